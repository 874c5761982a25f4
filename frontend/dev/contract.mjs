// What the daemon's own description says of its answers, so that the mock's are of the same kind.
import { readFileSync } from 'node:fs';

const { paths } = JSON.parse(
  readFileSync(new URL('../../backend/api/testdata/openapi.json', import.meta.url), 'utf8'),
);

/** Every operation; one that names its whole path stands before one with a gap in it. */
export const operations = Object.entries(paths)
  .flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { responses }]) => ({
      method: method.toUpperCase(),
      path,
      gaps: path.split('{').length - 1,
      fits: new RegExp(`^${path.replace(/\{[^}]+\}/g, '[^/]+')}$`),
      /** It answers 204, and nothing with it. */
      empty: '204' in responses,
    })),
  )
  .sort((a, b) => a.gaps - b.gaps);

/** The operation that answers a request; undefined where the daemon has none. */
export const operationOf = (method, pathname) =>
  operations.find((one) => one.method === method && one.fits.test(pathname));
