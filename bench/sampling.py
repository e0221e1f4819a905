"""How a row is sampled: what goes before each sample, which samples count, and how many there are.

A kernel that gives up cold page cache early (DAMON does) would have a quick rival read from the disk what a slow one has
let grow cold. So before each sample of a start, real or many row the same command runs natively, where that is quick,
and the rival starts `true`, both untimed: everybody meets the same warm cache. A sample that read from the disk all the
same (blocks read by the command and the children it waited for) is dropped and made again, a few times.
"""

import dataclasses

import place as places
import report
import rivals
import sizes

WARMED = ("start", "real", "many")
QUICK = 1.5  # seconds; what natively takes longer is not run natively first
SLOW = 3.0  # seconds; such a sample counts even if it is the first of a loop, or has read from the disk
TRUE = "/usr/bin/true"
AGAIN = 2  # times at most that one sample is made again


@dataclasses.dataclass
class Sample:
    figure: float
    took: float = 0.0
    faults: int = 0  # major ones; without blocks read they were the first touch of a new file's page, as of callgate's log
    blocks: int = 0  # of 512 bytes, read from the disk

    @property
    def cold(self):
        return self.blocks > 0


def sample(place, workload, rival):
    """One run of the command, or of as many as the workload wants at once."""
    if workload.sizes:
        return Sample(sizes.sample(place, workload, rival))
    several = [workload.name] if workload.at_once == 1 else [f"{workload.name}{n}" for n in range(workload.at_once)]
    folders = [place.workdir(name) for name in several]
    for folder in folders:
        if workload.prepare:
            workload.prepare(folder)
    commands = [rival.command(folder, workload.command, workload) for folder in folders]
    running = [places.Process(place, *pair, rival.environment) for pair in zip(commands, folders)]
    took = max([process.began + process.wait(workload.timeout) for process in running]) - running[0].began
    place.clear_logs()
    figure = float(running[0].output().split()[-1]) if workload.unit == "ns" else took * 1000 / workload.at_once
    read = [process.usage for process in running]
    return Sample(figure, took, sum(usage.ru_majflt for usage in read), sum(usage.ru_inblock for usage in read))


class Warmer:
    """What goes before the samples of one workload."""

    def __init__(self, place, workload):
        self.place, self.native = place, rivals.Native(place)
        self.workload = dataclasses.replace(workload, at_once=1)
        options = (*workload.options, "-x", TRUE)
        self.start = dataclasses.replace(self.workload, command=[TRUE], options=options, prepare=None)
        self.wanted = workload.group in WARMED
        self.took = 0.0  # natively, at last

    def warm(self, rival):
        if not self.wanted:
            return
        if self.took < QUICK:
            self.took = sample(self.place, self.workload, self.native).took
        if rival.name != "native":
            sample(self.place, self.start, rival)


class Cell:
    """The samples of one workload by one rival."""

    def __init__(self, place, workload, rival, options, least=1):
        self.place, self.workload, self.rival = place, workload, rival
        self.samples, self.failed, self.wanted = [], None, options.rounds
        self.least, self.budget = min(least, options.rounds), options.budget
        self.slow = 0 if options.quick else SLOW
        self.faults, self.blocks, self.repeated = 0, 0, 0

    def once(self, warmer):
        """A sample, or None when a rival cannot do it; that callgate or the native command cannot is an error."""
        try:
            warmer.warm(self.rival)
            return sample(self.place, self.workload, self.rival)
        except places.Failed as error:
            if self.rival.ours or self.rival.name == "native":
                raise
            self.failed = str(error)
        except PermissionError as error:  # sizes: only root may look
            self.failed = str(error)
        return None

    def keep(self, found):
        self.samples.append(found.figure)
        self.faults += found.faults
        self.blocks += found.blocks

    def first(self, warmer):
        """Tells how many more there is time for. A loop's own is thrown away, unless it is slow: nothing went before."""
        found = self.once(warmer)
        if found is None:
            return
        if self.workload.sizes:
            self.keep(found)
            self.wanted = 1
            return
        self.wanted = max(self.least, min(self.wanted, int(self.budget / found.took)))
        if found.took > self.slow or warmer.wanted and not found.cold:
            self.keep(found)

    def step(self, warmer):
        """One more sample, unless there are enough."""
        if self.failed or len(self.samples) >= self.wanted:
            return
        for left in range(AGAIN, -1, -1):
            found = self.once(warmer)
            if found is None:
                return
            if not found.cold or found.took > SLOW or not left or self.repeated >= self.wanted:
                break
            self.repeated += 1
        self.keep(found)


class Row:
    """The cells of one workload; what is there by now is the row's, also when it was interrupted."""

    def __init__(self, place, workload, working, options, needed):
        self.place, self.workload, self.rounds = place, workload, options.rounds
        self.began = report.now()
        self.cells = [Cell(place, workload, one, options, needed(one)) for one in working if fits(workload, one)]

    def measure(self):
        if self.workload.setup:
            self.workload.setup(self.place, self.place.workdir(self.workload.name))
        warmer = Warmer(self.place, self.workload)
        for cell in self.cells:
            cell.first(warmer)
        for number in range(self.rounds):
            for cell in self.cells if number % 2 == 0 else reversed(self.cells):  # nobody is always behind the same one
                cell.step(warmer)

    def data(self):
        """What the JSON says. disk: major faults and blocks of the samples, and how many were made again."""
        sampled = [cell for cell in self.cells if cell.samples]
        return {
            "group": self.workload.group,
            "unit": self.workload.unit,
            "command": " ".join(self.workload.command).replace(self.place.root, ""),
            "options": " ".join(self.workload.options).replace(self.place.root, ""),
            "began": self.began,
            "samples": {cell.rival.name: cell.samples for cell in sampled},
            "disk": {cell.rival.name: [cell.faults, cell.blocks, cell.repeated] for cell in sampled},
            "failed": {cell.rival.name: cell.failed for cell in self.cells if cell.failed},
        }


def fits(workload, rival):
    if workload.only:
        return rival.name in workload.only
    return {"floor": workload.floor, "nolog": workload.nolog}.get(rival.name, True)
