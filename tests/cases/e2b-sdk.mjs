// The official packages e2b and @e2b/code-interpreter against callgate serve: see e2b-sdk.sh.
import assert from 'node:assert'
import { Sandbox } from 'e2b'
import { Sandbox as Interpreter } from '@e2b/code-interpreter'

const box = await Sandbox.create({ timeoutMs: 120_000, envs: { GLOBAL: 'g' } })
assert(await box.isRunning())
const result = await box.commands.run('echo $GLOBAL; pwd; echo err >&2')
assert.deepEqual([result.stdout, result.stderr, result.exitCode], ['g\n/home/user\n', 'err\n', 0])
await assert.rejects(box.commands.run('exit 3'), { exitCode: 3 })
await box.files.write('dir/a.txt', 'text')
assert.equal(await box.files.read('dir/a.txt'), 'text')
assert.deepEqual((await box.files.list('dir')).map((entry) => entry.name), ['a.txt'])
const events = []
const watch = await box.files.watchDir('dir', (event) => events.push(event.name))
await box.files.write('dir/new', 'x')
for (let i = 0; i < 50 && events.length === 0; i++) await new Promise((done) => setTimeout(done, 100))
assert.equal(events[0], 'new')
await watch.stop()
let output = ''
const terminal = await box.pty.create({
  cols: 80, rows: 24, onData: (data) => { output += Buffer.from(data).toString() },
})
await box.pty.resize(terminal.pid, { cols: 100, rows: 24 })
await box.pty.sendInput(terminal.pid, Buffer.from('tput cols; exit\n'))
assert.equal((await terminal.wait()).exitCode, 0)
assert(output.includes('100'), output)
const address = await box.downloadUrl('dir/a.txt', { useSignatureExpiration: 60 })
assert.equal(await (await fetch(address)).text(), 'text')
assert(await box.kill())
assert.equal(await box.isRunning(), false)

const interpreter = await Interpreter.create({ timeoutMs: 120_000 })
await interpreter.runCode('x = 1')
const lines = []
const execution = await interpreter.runCode('x += 1; print("out"); x', { onStdout: (line) => lines.push(line.line) })
assert.equal(execution.text, '2')
assert.deepEqual(lines, ['out\n'])
assert.equal((await interpreter.runCode('1/0')).error.name, 'ZeroDivisionError')
assert.equal((await interpreter.runCode('6 * 7', { language: 'js' })).text, '42')
await interpreter.kill()
