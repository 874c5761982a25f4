// Writes the types of the daemon's API from its OpenAPI document: npm run types
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { compile } from 'json-schema-to-typescript';

const document = new URL('../../backend/api/testdata/openapi.json', import.meta.url);
const target = new URL('../src/types/api.gen.ts', import.meta.url);

const banner =
  '// Generated from backend/api/testdata/openapi.json by npm run types. Do not edit.\n';
const origin =
  /\n \*(?:\n \*)? This interface was referenced by `Api`'s JSON-Schema\n \* via the `definition` "\w+"\./g;

/** The types of all schemas of the document, by their names in it. */
export async function generate() {
  const { schemas } = JSON.parse(
    readFileSync(document, 'utf8').replaceAll('#/components/schemas/', '#/$defs/'),
    // A description beside a reference would make a second type of the same schema.
    (_, value) => (value?.$ref ? { $ref: value.$ref } : value),
  ).components;
  const types = await compile({ $defs: schemas, additionalProperties: false }, 'Api', {
    additionalProperties: false,
    bannerComment: banner,
    ignoreMinAndMaxItems: true,
    style: { singleQuote: true },
    unreachableDefinitions: true,
  });
  return types
    .replace('export interface Api {}\n', '')
    .replaceAll(origin, '')
    .replaceAll('/**\n */\n', '');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(target, await generate());
