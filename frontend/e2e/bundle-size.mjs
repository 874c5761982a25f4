// The size of the code that a browser loads before it shows the page, and later for one part of it.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';

const dist = new URL('../dist/', import.meta.url);
const limit = 250_000;
const chunkLimit = 200_000;

const gzipped = (file) => gzipSync(readFileSync(new URL(file, dist))).length;

export async function size(check) {
  await check('each file of JavaScript has at most 200 kB, gzipped', () => {
    const files = readdirSync(new URL('assets/', dist)).filter((file) => file.endsWith('.js'));
    assert.ok(files.length > 1, 'this did not look at the page');
    for (const file of files) {
      const bytes = gzipped(`assets/${file}`);
      assert.ok(bytes <= chunkLimit, `${file}: ${bytes} bytes`);
    }
  });
  return check('the first page needs at most 250 kB of JavaScript, gzipped', () => {
    const html = readFileSync(new URL('index.html', dist), 'utf8');
    const files = new Set(
      [...html.matchAll(/(?:src|href)="\.\/([^"]+\.js)"/g)].map(([, file]) => file),
    );
    // Static imports of these files are loaded too, whether or not they are preloaded.
    const queue = [...files];
    for (let file = queue.shift(); file; file = queue.shift()) {
      const text = readFileSync(new URL(file, dist), 'utf8');
      for (const [, name] of text.matchAll(/(?:import|from)\s*"\.\/([^"]+\.js)"/g)) {
        const path = `assets/${name}`;
        if (!files.has(path)) {
          files.add(path);
          queue.push(path);
        }
      }
    }
    const bytes = [...files].reduce((sum, file) => sum + gzipped(file), 0);
    console.log(
      `JavaScript of the first page: ${Math.round(bytes / 1000)} kB in ${files.size} files`,
    );
    assert.ok(files.size > 1 && bytes > 50_000, 'this did not look at the page');
    assert.ok(bytes <= limit, `${bytes} bytes`);
  });
}
