import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { expect, it } from 'vitest';

const src = import.meta.dirname;
const files = readdirSync(src, { recursive: true, encoding: 'utf8' }).filter(
  (file) => /\.tsx?$/.test(file) && !/\.test\.tsx?$/.test(file),
);

/** The layers that each layer can import; a feature can also import itself, but not other features. */
const allowed: Record<string, string[]> = {
  types: ['types'],
  lib: ['lib', 'types'],
  components: ['components', 'lib', 'types'],
  features: ['components', 'lib', 'types'],
  app: ['app', 'features', 'components', 'lib', 'types'],
};

it('imports follow the order of the layers, and no feature imports another one', () => {
  const wrong: string[] = [];
  let edges = 0;
  for (const file of files) {
    const [layer = '', feature] = file.split('/');
    const may = allowed[layer];
    if (!may) continue; // main.tsx and other files outside the layers can import everything
    const text = readFileSync(join(src, file), 'utf8');
    for (const [, target = ''] of text.matchAll(/(?:from|import\()\s*'(@\/[^']+|\.[^']+)'/g)) {
      edges++;
      const path = target.startsWith('@/')
        ? target.slice(2)
        : relative(src, join(src, file, '..', target));
      const [to = '', toFeature] = path.split('/');
      const own = layer === 'features' && to === 'features' && toFeature === feature;
      const schema = path === '../../config/schema.json'; // the only file outside of src
      if (!own && !schema && !may.includes(to)) wrong.push(`${file} imports ${path}`);
    }
  }
  expect(wrong).toEqual([]);
  expect(edges).toBeGreaterThan(100); // the pattern matches imports
});
