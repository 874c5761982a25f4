// Generates the PNG and ICO files from the SVG sources: make icons.
// The ICO files contain PNG images, which Windows supports since Vista.
import { readFile, writeFile } from 'node:fs/promises'
import { launch } from '../../frontend/e2e/browser.mjs'

const here = (name) => new URL(name, import.meta.url)

const browser = await launch()
const page = await browser.newPage()

async function png(svg, size) {
  await page.setViewportSize({ width: size, height: size })
  await page.setContent(`<style>*{margin:0}svg{display:block;width:${size}px;height:${size}px}</style>${svg}`)
  return page.screenshot({ omitBackground: true, clip: { x: 0, y: 0, width: size, height: size } })
}

function ico(images) {
  const head = Buffer.alloc(6 + 16 * images.length)
  head.writeUInt16LE(1, 2)
  head.writeUInt16LE(images.length, 4)
  let offset = head.length
  images.forEach(({ size, data }, i) => {
    const at = 6 + 16 * i
    head.writeUInt8(size % 256, at)
    head.writeUInt8(size % 256, at + 1)
    head.writeUInt16LE(1, at + 4)
    head.writeUInt16LE(32, at + 6)
    head.writeUInt32LE(data.length, at + 8)
    head.writeUInt32LE(offset, at + 12)
    offset += data.length
  })
  return Buffer.concat([head, ...images.map((image) => image.data)])
}

async function several(svg, sizes) {
  const images = []
  for (const size of sizes) images.push({ size, data: await png(svg, size) })
  return images
}

for (const state of ['ok', 'attention', 'error', 'paused', 'template']) {
  const svg = await readFile(here(`tray-${state}.svg`), 'utf8')
  await writeFile(here(`tray-${state}.png`), await png(svg, 64))
  if (state !== 'template') await writeFile(here(`tray-${state}.ico`), ico(await several(svg, [16, 24, 32])))
}
const app = await readFile(here('app.svg'), 'utf8')
await writeFile(here('app-256.png'), await png(app, 256))
await writeFile(here('app.ico'), ico(await several(app, [16, 32, 48, 256])))
await writeFile(here('../appicon.png'), await png(app, 1024)) // the Wails tools look here
await browser.close()
