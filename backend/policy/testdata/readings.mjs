// Prints, for each line of stdin, which is a JSON string, the files that programs in JavaScript would open
// for it, as a JSON list.
import fs from 'node:fs'
import path from 'node:path'
import readline from 'node:readline'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const cwd = process.argv[2]
const real = new Map()

function resolve(file) {
  let known = real.get(file)
  if (known === undefined) {
    try {
      known = fs.realpathSync.native(file)
    } catch {
      const parent = path.dirname(file)
      known = parent === file ? file : path.join(resolve(parent), path.basename(file))
    }
    if (real.size > 200_000) real.clear()
    real.set(file, known)
  }
  return known
}

const attempt = (read) => (s) => {
  try {
    return [read(s)].flat().filter((v) => typeof v === 'string')
  } catch {
    return []
  }
}
const looksLikePath = (s) => /^\s*["']*[.~]|[/\\]/.test(s)
const list = (separator) => (s) => s.split(separator).filter((part, i) => i === 0 || looksLikePath(part))

const trims = [(s) => s, (s) => s.trim(), (s) => s.trimStart(), (s) => s.trimEnd(), (s) => s.replace(/\r?\n$/, ''), (s) => s.replace(/^\uFEFF/, '')]
const reads = [
  (s) => s,
  decodeURIComponent,
  (s) => decodeURIComponent(s).trim(),
  (s) => s.replace(/^["']|["']$/g, ''),
  (s) => s.normalize('NFC'),
  (s) => s.normalize('NFD'),
  (s) => s.normalize('NFKC').trim(),
  (s) => s.replaceAll('\\', '/'),
  (s) => (/^file:/i.test(s) ? fileURLToPath(s) : undefined),
  (s) => (/^file:/i.test(s) ? decodeURIComponent(new URL(s).pathname) : undefined),
  (s) => s.replace(/^file:\/\//i, ''),
  (s) => s.replace(/^@/, ''),
  (s) => parseArgs({ args: [s], options: { file: { type: 'string', short: 'f' } } }).values.file,
  list(/[,;|]/),
  list(/\r?\n/),
  (s) => s.split(path.delimiter).filter((part, i) => i === 0 || /^(\/(?!\/)|~\/|\.\.?\/)/.test(part)),
].map(attempt)

for await (const line of readline.createInterface({ input: process.stdin })) {
  const text = JSON.parse(line)
  const names = new Set()
  for (const trim of trims) {
    for (const read of reads) for (const name of read(trim(text))) names.add(name).add(name.trim())
  }
  const files = new Set()
  for (const name of names) {
    if (!name.includes('\0')) files.add(resolve(path.resolve(cwd, name)))
  }
  process.stdout.write(JSON.stringify([...files]) + '\n')
}
