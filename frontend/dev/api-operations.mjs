// The operations of the daemon, so that the mock daemon has no others.
import { readFileSync } from 'node:fs';

const { paths } = JSON.parse(
  readFileSync(new URL('../../backend/api/testdata/openapi.json', import.meta.url), 'utf8'),
);
const operations = Object.entries(paths).flatMap(([path, methods]) => {
  const pattern = new RegExp(`^${path.replace(/\{[^}]+\}/g, '[^/]+')}$`);
  return Object.keys(methods).map((method) => ({ method: method.toUpperCase(), pattern }));
});

export const isOperation = (method, pathname) =>
  operations.some((one) => one.method === method && one.pattern.test(pathname));
