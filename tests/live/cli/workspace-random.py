# Random programs (workspace-program.py) in a workspace and natively on a copy, compared: what the program sees, what
# callgate ws apply makes of the directory, wholly, in parts and killed at any moment; and all else leaves it alone.
# FIRST_SEED SEEDS KILLS; in the environment: WORKSPACE_RUN and WORKSPACE_NATIVE, command lines as JSON, CALLGATE;
# WORKSPACE_DIRS: how many directories the workspace has.
import importlib.util, json, os, random, re, shutil, signal, socket, stat, subprocess, sys, time

HERE = os.path.dirname(os.path.abspath(__file__))
spec = importlib.util.spec_from_file_location('program', os.path.join(HERE, 'workspace-program.py'))
program = importlib.util.module_from_spec(spec)
spec.loader.exec_module(program)

CALLGATE = os.environ['CALLGATE']
RUN = json.loads(os.environ['WORKSPACE_RUN'])
NATIVE = json.loads(os.environ['WORKSPACE_NATIVE'])
PLAY = [sys.executable, os.environ['WORKSPACE_PROGRAM']]
T = os.environ['WORKSPACE_T']
BASE, COPY = os.path.join(T, 'w'), os.path.join(T, 'copy')
# the directories of the workspace, below BASE
COUNT = int(os.environ.get('WORKSPACE_DIRS', '1'))
DIRS = [''] if COUNT == 1 else ['d%d' % i for i in range(COUNT)]
NOT_ALL = 3
VERSION = re.compile(rb'(?s)(.*)\.(?:base|ours|theirs)(?:\.[2-9])?')  # of a conflict, beside its file
counts = dict(programs=0, differ=0, applied=0, parts=0, discarded=0, kills=0, interrupted=0, steps=0, links=0)
failed = []


def fail(seed, text):
    failed.append(seed)
    counts['differ'] += 1
    print('FAIL: seed %d: %s' % (seed, text[:2000]), file=sys.stderr, flush=True)


def build(root, seed):
    """The directories, each with a tree of its own."""
    program.open_all(root)
    shutil.rmtree(root, ignore_errors=True)
    for i, where in enumerate(DIRS):
        os.makedirs(os.path.join(root, where), 0o755)
        build_tree(os.path.join(root, where), seed + i)


def build_tree(root, seed):
    """A tree with entries of all kinds. Without hard links: of those, one that is written to is a file of its own."""
    draw = random.Random(seed)
    root = os.fsencode(root)
    names = program.names_of(draw)[:9] + [b'n1', b'lower']
    dirs = [b'']
    for i in range(30):
        path = os.path.join(draw.choice(dirs[-4:]), draw.choice(names))
        full, kind = os.path.join(root, path), draw.randrange(10)
        if os.path.lexists(full) or len(full) > 2000:
            continue
        if kind < 3:
            os.mkdir(full, 0o755)
            dirs.append(path)
        elif kind == 3:
            os.symlink(draw.choice((b'n1', b'.', b'n2/n1', b'/none/n1')), full)
        elif kind == 4:
            os.mkfifo(full)
        elif kind == 5:
            os.mknod(full, stat.S_IFSOCK | 0o755)
        else:
            with open(full, 'wb') as file:
                file.write(draw.randbytes(draw.choice((0, 10, 5000))))
                if kind == 6:
                    file.truncate(1 << 20)
            os.setxattr(full, b'user.a', draw.randbytes(20))
            os.chmod(full, draw.choice((0o644, 0o755, 0o600, 0o444)))
    for path in sorted(program.walk(root), reverse=True):
        at = draw.randrange(program.OLD * 10**9)
        os.utime(path, ns=(at, at), follow_symlinks=False)
    os.utime(root, ns=(10**18, 10**18))
    program.close_some(draw, root)


def picture(root):
    """All that can tell that something was changed."""
    found = {}
    for path in [os.fsencode(root)] + list(program.walk(os.fsencode(root))):
        at = os.lstat(path)
        found[path] = at.st_ino, at.st_mtime_ns, at.st_ctime_ns, at.st_nlink, program.look(path)
    return found


def state(root):
    """What an apply has to make of each path: not the times of directories."""
    found = {}
    root = os.fsencode(root)
    for path in program.walk(root):
        mode, size, mtime, content, attributes = program.look(path)
        is_dir = stat.S_ISDIR(os.lstat(path).st_mode)
        found[os.path.relpath(path, root)] = mode, size, 0 if is_dir else mtime, content, attributes
    return found


def differences(left, right):
    return ['%r: %s %s' % (path, left.get(path), right.get(path)) for path in sorted(set(left) | set(right))
            if left.get(path) != right.get(path)]


def ws(*words):
    return subprocess.run([CALLGATE, 'ws', *words], capture_output=True, stdin=subprocess.DEVNULL)


def path_of(text):
    """A path of JSON, in which what is no UTF-8 is escaped."""
    out, rest = b'', text.encode()
    while rest:
        if rest[:2] == b'\\x':
            out, rest = out + bytes([int(rest[2:4], 16)]), rest[4:]
        elif rest[:2] == b'\\\\':
            out, rest = out + b'\\', rest[2:]
        else:
            out, rest = out + rest[:1], rest[1:]
    return out


def changes(workspace):
    found = [json.loads(line) for line in ws('diff', '--json', workspace).stdout.splitlines()]

    def below(each, key):
        """The path of a change below BASE."""
        path = path_of(each[key])
        at = os.path.relpath(each.get('dir', BASE), BASE)
        return path if at == '.' else os.path.normpath(os.path.join(os.fsencode(at), path))
    return [(below(each, 'path'), below(each, 'old_path') if each.get('old_path') else None, each['change'])
            for each in found]


def names_of_files(root):
    """Which paths are names of one file."""
    found = {}
    for path in program.walk(os.fsencode(root)):
        at = os.lstat(path)
        if stat.S_ISREG(at.st_mode) and at.st_nlink > 1:
            found.setdefault(at.st_ino, set()).add(os.path.relpath(path, os.fsencode(root)))
    return sorted(sorted(names) for names in found.values())


def must_be_native(seed, what, native):
    left = differences(state(BASE), native)
    if left:
        fail(seed, '%s: the directory, the native copy: %s' % (what, left[:3]))
    if names_of_files(BASE) != names_of_files(COPY):
        fail(seed, '%s: hard links: %s %s' % (what, names_of_files(BASE), names_of_files(COPY)))
    counts['links'] += len(names_of_files(COPY))


def apply_all(seed, workspace, native, *words):
    done = ws('apply', '--allow-executed', *words, workspace)
    if done.returncode != 0:
        fail(seed, 'apply: %d %r' % (done.returncode, done.stderr))
    must_be_native(seed, 'apply', native)
    left = ws('diff', workspace)
    if left.returncode != 0:
        fail(seed, 'diff after apply: %d %r' % (left.returncode, left.stdout + left.stderr))
    counts['applied'] += 1


def is_at_or_below(path, chosen):
    return any(path == each or path.startswith(each + b'/') for each in chosen)


def renamed_to_others(found, before, native):
    """Pairs of an old and a new name of a file, of which the new one was another file's: contents tell."""
    def content(states, path):
        each = states.get(path)
        return (each[1], each[3]) if each and each[0].startswith('0o10') and each[1] > 0 else None
    old = [path for path, _, _ in found if content(before, path) and not content(native, path)]
    new = [path for path, _, _ in found if content(native, path) and content(native, path) != content(before, path)]
    return [(a, b) for a in old for b in new if a != b and content(before, a) == content(native, b)]


def apply_part(seed, workspace, native):
    """Applies a few paths. What is not at or below one of them stays as it is, unless it belongs to what is."""
    draw = random.Random(seed)
    found = changes(workspace)
    paths = [path for path, _, _ in found if b'*' not in path and path != b'.']
    chosen = draw.sample(paths, min(len(paths), draw.randrange(1, 6)))
    if not chosen:
        return
    before = state(BASE)
    where = b'./' if COUNT == 1 else os.fsencode(BASE) + b'/'
    done = ws('apply', '--allow-executed', workspace, *[where + path for path in chosen])
    after = state(BASE)
    may, must = set(), set()
    for path, old, change in found:
        if is_at_or_below(path, chosen) or old and is_at_or_below(old, chosen):
            must |= {path, old} - {None}
    others = {each for pair in renamed_to_others(found, before, native) for each in pair
              if any(is_at_or_below(each, chosen) for each in pair)}
    for path in must | others:
        while path:
            may.add(path)
            path = os.path.dirname(path)
    versions = {path for path in set(after) - set(before) if VERSION.fullmatch(path)
                and VERSION.fullmatch(path)[1] in must | others}
    touched = {path for path in set(before) | set(after) if before.get(path) != after.get(path)} - versions
    made = {path for path in touched - must if path in may and path not in before or
            path in before and path in native and before[path][0][:4] != native[path][0][:4]}
    also = touched - must - others - made
    if also:
        fail(seed, 'a part, %r: also changed: %r' % (chosen, sorted(also)[:3]))
    if done.returncode not in (0, NOT_ALL):
        fail(seed, 'a part, %r: %d %r' % (chosen, done.returncode, done.stderr))
    left = [path for path in must if after.get(path) != native.get(path)]
    if left and done.returncode == 0:
        fail(seed, 'a part, %r: not applied: %r' % (chosen, left[:3]))
    for path in versions:  # of conflicts
        remove(os.path.join(os.fsencode(BASE), path))
    counts['parts'] += 1
    counts['parts_not_all'] = counts.get('parts_not_all', 0) + (done.returncode == NOT_ALL)


def remove(path):
    """Removes a version, also where a later step of the apply has closed the directory."""
    above = os.path.dirname(path)
    mode = stat.S_IMODE(os.lstat(above).st_mode)
    os.chmod(above, mode | 0o700)
    os.remove(path)
    os.chmod(above, mode)


def contents(states):
    return {each[3] for each in states.values() if each[0].startswith('0o10') and each[1] > 0}


def overwritten_copies(before, native):
    """Contents of files that were overwritten in their place after having been copied: such copies are not known as
    other names (doc/workspaces.md). A copy has another time than a file that was renamed."""
    def times(states, content):
        return {each[2] for each in states.values() if each[3] == content and each[0].startswith('0o10')}
    stays = {each[3]: True for each in before.values()}
    for path, each in before.items():
        stays[each[3]] &= path in native and native[path][0].startswith('0o10')
    return {content for content, all_stay in stays.items()
            if all_stay and not times(before, content) & times(native, content)}


def apply_with_conflicts(seed, workspace, native):
    """Others change some files. What the directory had, and the program has under any name, is there afterwards."""
    draw = random.Random(seed)
    before = state(BASE)
    paths = [path for path, _, _ in changes(workspace) if path != b'.']
    for path in draw.sample(paths, min(len(paths), draw.randrange(1, 9))):
        full = os.path.join(os.fsencode(BASE), path)
        above = os.path.dirname(full)
        is_free = os.path.isdir(above) and os.access(above, os.W_OK | os.X_OK) and not os.path.lexists(full)
        is_file = os.path.isfile(full) and os.access(full, os.W_OK) and not os.path.islink(full)
        if os.path.realpath(above) == above and (is_free or is_file):
            with open(full, 'ab') as file:
                file.write(b'outside')
            before.pop(path, None)
    words = draw.choice(((), ('--ours',)))
    done = ws('apply', *draw.choice(((), ('--allow-executed',))), *words, workspace)
    after = state(BASE)
    if done.returncode not in (0, NOT_ALL):
        fail(seed, 'conflicts: %d %r' % (done.returncode, done.stderr))
    lost = (contents(before) & contents(native)) - contents(after) - overwritten_copies(before, native)
    if lost:
        fail(seed, 'conflicts %r: lost: %r %r' % (words, sorted(lost)[:3], done.stderr))
    for path in after:
        if VERSION.fullmatch(path) and path not in native:
            remove(os.path.join(os.fsencode(BASE), path))
    counts['conflicts'] = counts.get('conflicts', 0) + 1
    counts['conflicts_not_all'] = counts.get('conflicts_not_all', 0) + (done.returncode == NOT_ALL)


def read_journal(store):
    """The paths of steps that were done, that of the last if it was not, and of which directory; None: of none."""
    at = [where for i, where in enumerate(DIRS) if os.path.exists(journal_of(store, i))]
    done, begun = [], None
    if not at:
        return done, begun, None
    with open(journal_of(store, DIRS.index(at[0])), 'rb') as file:
        lines = file.read().split(b'\n')[:-1]
    for line in lines:
        if line == b'done':
            done.append(begun)
            begun = None
        else:
            try:
                begun = json.loads(line)
                if isinstance(begun, dict):  # of which directory it is
                    begun = None
                    continue
                begun = begun[0] if isinstance(begun, list) else begun  # of a replacement, with its number
                begun = os.path.normpath(os.path.join(os.fsencode(at[0]), path_of(begun)))
            except ValueError:
                begun = None
    return done, begun, DIRS.index(at[0])


def journal_of(store, i):
    return store + ('/%d/journal' % i if i else '/journal')


def size_of(path):
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0


def kill_apply(seed, workspace, native, draw):
    """Kills an apply, recovers. True: it had ended before."""
    before = state(BASE)
    kinds = {path: change for path, _, change in changes(workspace)}
    size, pause = draw.randrange(1 + sum(len(path) + 12 for path in kinds)), draw.uniform(0, 0.0003)
    store = '%s/callgate-%d/workspaces/%s' % (os.environ['TMPDIR'], os.getuid(), workspace)
    apply = subprocess.Popen([CALLGATE, 'ws', 'apply', '--theirs', '--allow-executed', workspace],
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while apply.poll() is None and sum(size_of(journal_of(store, i)) for i in range(len(DIRS))) < size:
        pass
    end = time.monotonic() + pause
    while time.monotonic() < end:
        pass
    apply.send_signal(signal.SIGKILL)
    counts['kills'] += 1
    if apply.wait() == 0:
        return True
    done, begun, at = read_journal(store)
    was_interrupted = at is not None
    if not was_interrupted and COUNT == 1 and state(BASE) != before:
        must_be_native(seed, 'killed at its end', native)
        return True
    counts['interrupted'] += was_interrupted
    counts['steps'] += len(done)
    recovered = ws('recover', workspace)
    if recovered.returncode != 0:
        fail(seed, 'recover: %d %r' % (recovered.returncode, recovered.stderr))
    if begun is not None and b'interrupted at' not in recovered.stdout:
        fail(seed, 'recover does not say where: %r' % recovered.stdout)
    # replacements that were made, and not exchanged, are taken back as well: they are told, and not counted
    taken_back = recovered.stdout.count(b'interrupted at ') - 1
    if begun is not None and b'%d steps were done' % (len(done) - taken_back) not in recovered.stdout:
        fail(seed, 'recover, after %d steps: %r' % (len(done), recovered.stdout))
    begun = {*done, begun}
    replaced = [path for path in begun - {None} if kinds.get(path) == 'replaced']  # with all that is in them
    after = state(BASE)
    for path in (set(before) | set(after) | set(native)) if was_interrupted else ():
        was, now, will = before.get(path), after.get(path), native.get(path)
        if is_at_or_below(path, [os.fsencode(where) for where in DIRS[:at]]):
            if now != will:
                fail(seed, 'killed: in a directory that was done: %r: %s, %s' % (path, now, will))
        elif now is not None and now[0].startswith('0o4'):  # a directory: its entries are judged themselves
            if path not in begun and not is_at_or_below(path, replaced) and now != was and not \
                    kinds.get(path) in ('added', 'replaced'):
                fail(seed, 'killed: a directory that is not in the journal: %r %s %s' % (path, was, now))
        elif now not in (was, will):
            fail(seed, 'killed: neither old nor new: %r: %s, %s, %s' % (path, was, now, will))
        elif now != was and path not in begun and not is_at_or_below(path, replaced):
            fail(seed, 'killed: changed, but not in the journal: %r: %s, %s' % (path, was, now))
        elif path in done and now != will and kinds.get(path) != 'replaced':
            fail(seed, 'killed: done by the journal, but not there: %r: %s, %s' % (path, now, will))
    if any(path.split(b'/')[-1].startswith(b'.callgate-' + workspace.encode()) for path in after):
        fail(seed, 'killed: left beside')
    return False


def play(seed, kills_wanted):
    build(BASE, seed)
    build(COPY, seed)
    before = picture(BASE)
    time.sleep(0.012)  # until a new file has another time
    dirs = [os.path.join(BASE, where).rstrip('/') for where in DIRS]
    further = [word for each in dirs[1:] for word in ('--cow-dir', each, '-W', each)]
    words = [*PLAY, str(seed), '200', *['../' + where for where in DIRS[1:]]]
    inside = subprocess.run([*RUN, '-w', dirs[0], *further, '--', *words], capture_output=True,
                            stdin=subprocess.DEVNULL)
    native = subprocess.run([*NATIVE, *words], capture_output=True, stdin=subprocess.DEVNULL,
                            cwd=os.path.join(COPY, DIRS[0]))
    try:
        result = json.loads(inside.stdout)
        workspace = result['workspace']['id']
    except (ValueError, KeyError, TypeError):
        return fail(seed, 'not run: %r %r' % (inside.stdout[-300:], inside.stderr))
    counts['programs'] += 1
    seen, expected = result['stdout'].splitlines(), native.stdout.decode().splitlines()
    if seen != expected or native.returncode != 0:
        at = next((i for i, pair in enumerate(zip(seen, expected)) if pair[0] != pair[1]), -1)
        fail(seed, 'inside: %s natively: %s %r' % (seen[at:at + 1], expected[at:at + 1], native.stderr))
        ws('discard', workspace)
        return
    for line in expected[:200]:
        word = ' '.join(line.split()[1:3]) if line.split()[-1].isupper() else line.split()[1]
        outcomes[word] = outcomes.get(word, 0) + 1
    if picture(BASE) != before:
        fail(seed, 'changed by the run: %s' % differences(before, picture(BASE))[:3])
    native = state(COPY)
    what = 'kill' if kills_wanted else ('all', 'part', 'discard', 'conflicts')[seed % 4]
    if what == 'discard':
        if ws('diff', '--stat', workspace).returncode not in (0, 1):
            fail(seed, 'diff: %r' % ws('diff', '--stat', workspace).stderr)
    elif what == 'all':
        apply_all(seed, workspace, native)
    elif what == 'part':
        apply_part(seed, workspace, native)
        apply_all(seed, workspace, native, '--theirs')
    elif what == 'conflicts':
        apply_with_conflicts(seed, workspace, native)
        apply_all(seed, workspace, native, '--theirs')
    else:
        draw = random.Random(seed)
        for _ in range(kills_wanted):
            if kill_apply(seed, workspace, native, draw):
                break
        apply_all(seed, workspace, native, '--theirs')
    if ws('discard', workspace).returncode != 0:
        fail(seed, 'not discarded')
    if what == 'discard' and picture(BASE) != before:
        fail(seed, 'changed by discard: %s' % differences(before, picture(BASE))[:3])
    counts['discarded'] += 1


outcomes = {}


def main():
    first, seeds, kills = map(int, sys.argv[1:4])
    for seed in range(first, first + seeds):
        play(seed, 0)
    seed = first + seeds
    while counts['interrupted'] < kills and seed < first + seeds + 4 * kills + 10:
        play(seed, 5)
        seed += 1
    print(json.dumps(counts), 'failed seeds:', sorted(set(failed))[:20])
    if os.environ.get('WORKSPACE_OUTCOMES'):
        for word, count in sorted(outcomes.items()):
            print(count, word)
    sys.exit(bool(failed) or not counts['programs'])


if __name__ == '__main__':
    main()
