"""How a row is sampled: what runs before each sample, which samples count, and how many there are.

A kernel that gives up cold page cache early (DAMON does) would make a quick rival read from the disk what a slow one
has let grow cold. So before each sample of a start, real or many row the same command runs natively, where that is
quick, and the rival starts `true`, both untimed: all rivals find the same warm cache. A sample that read from the disk
all the same (blocks read by the command and the children it waited for) is dropped and repeated, a few times.

Figures are compared within a round (estimate.py). So those that are compared most run next to each other in each
round: native, floor, callgate and the rivals that a target names. They get up to FINE times as many samples (FINEST
where a sample is short), as far as the budget goes. The samples of the others are spread over the rounds. Rows of one
block share their rounds.
"""

import dataclasses
import time

import estimate
import place as places
import report
import rivals
import sizes

WARMED = ("start", "real", "many")
QUICK = 1.5  # seconds; what natively takes longer is not run natively first
SLOW = 3.0  # seconds; such a sample counts even if it is the first of a loop, or has read from the disk
TRUE = "/usr/bin/true"
AGAIN = 2  # times at most that one sample is made again
FINE, FINEST = 5, 9
SHORT = ("micro", "start")
AROUND = 3  # what is done around a sample may take so many times the time that the budget allows the sample
CLOSE = ("native", "floor", "callgate")
ENDING = 2  # seconds that a rival's processes have for ending after it


@dataclasses.dataclass
class Sample:
    figure: float
    took: float = 0.0
    # major ones; without blocks read they were the first touch of a new file's page, as of callgate's log
    faults: int = 0
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
    places.end_children(ENDING, place.busy)  # what a rival leaves running must not disturb the next one
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

    def __init__(self, place, workload, rival, options, named=()):
        self.place, self.workload, self.rival = place, workload, rival
        self.samples, self.rounds, self.failed = [], [], None
        self.close = rival.name in CLOSE
        often = FINEST if workload.group in SHORT else FINE
        self.wanted = options.rounds * (often if self.close or rival.name in named else 1)
        self.least = min(self.wanted, estimate.LEAST if self.close else 3 if rival.name in named else 1)
        self.budget, self.slow = options.budget, 0 if options.quick else SLOW
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

    def keep(self, found, number):
        self.samples.append(found.figure)
        self.rounds.append(number)
        self.faults += found.faults
        self.blocks += found.blocks

    def first(self, warmer):
        """Finds out how many more samples fit. A quick loop's first sample is dropped, since it is cold."""
        began = time.monotonic()
        found = self.once(warmer)
        if found is None:
            return
        if self.workload.sizes:
            self.keep(found, 0)
            self.wanted = 1
            return
        took = max(found.took, (time.monotonic() - began) / AROUND)
        self.wanted = max(self.least, min(self.wanted, int(self.budget / took)))
        if found.took > self.slow or warmer.wanted and not found.cold:
            self.keep(found, 0)

    def due(self, number, rounds):
        """Whether it takes part in this round of so many: those of which there are fewer samples are spread."""
        return not self.failed and len(self.samples) * rounds < self.wanted * number

    def step(self, warmer, number):
        """One more sample."""
        for left in range(AGAIN, -1, -1):
            found = self.once(warmer)
            if found is None:
                return
            if not found.cold or found.took > SLOW or not left or self.repeated >= self.wanted:
                break
            self.repeated += 1
        self.keep(found, number)


class Row:
    """The cells of one workload; what is there by now is the row's, also when it was interrupted."""

    def __init__(self, place, workload, working, options, named=()):
        self.place, self.workload, self.began = place, workload, report.now()
        self.cells = [Cell(place, workload, one, options, named) for one in working if fits(workload, one)]
        self.cells.sort(key=lambda cell: not cell.close)
        self.warmer = Warmer(place, workload)
        self.rounds = 0

    def first(self):
        """Then it is known how many rounds there are: as many as those who are compared most have time for."""
        if self.workload.setup:
            self.workload.setup(self.place, self.place.workdir(self.workload.name))
        for cell in self.cells:
            cell.first(self.warmer)
        cells = [cell for cell in self.cells if not cell.failed]
        self.rounds = min((cell.wanted for cell in cells if cell.close),
                          default=max(cell.wanted for cell in self.cells))
        for cell in cells:
            cell.wanted = min(cell.wanted, self.rounds)

    def step(self, number, rounds):
        for cell in self.cells if number % 2 else reversed(self.cells):  # no cell is always behind the same one
            if cell.due(number, rounds):
                cell.step(self.warmer, number)

    def data(self):
        """What the JSON says. rounds: which each sample was made in. disk: major faults, blocks, samples made again."""
        sampled = [cell for cell in self.cells if cell.samples]
        return {
            "group": self.workload.group,
            "unit": self.workload.unit,
            "block": self.workload.block or self.workload.name,
            "command": " ".join(self.workload.command).replace(self.place.root, ""),
            "options": " ".join(self.workload.options).replace(self.place.root, ""),
            "began": self.began,
            "samples": {cell.rival.name: cell.samples for cell in sampled},
            "rounds": {cell.rival.name: cell.rounds for cell in sampled},
            "disk": {cell.rival.name: [cell.faults, cell.blocks, cell.repeated] for cell in sampled},
            "failed": {cell.rival.name: cell.failed for cell in self.cells if cell.failed},
        }


def measure(rows):
    """The rows of one block, in the rounds of that which has most."""
    for row in rows:
        row.first()
    rounds = max(row.rounds for row in rows)
    for number in range(1, rounds + 1):
        for row in rows if number % 2 else reversed(rows):
            row.step(number, rounds)


def blocks(workloads):
    """They in their order, those of one block together."""
    found = {}
    for workload in workloads:
        found.setdefault(workload.block or workload.name, []).append(workload)
    return found.values()


def fits(workload, rival):
    if workload.only:
        return rival.name in workload.only
    if not rival.everywhere and not workload.table:
        return False
    return {"floor": workload.floor, "nolog": workload.nolog}.get(rival.name, True)
