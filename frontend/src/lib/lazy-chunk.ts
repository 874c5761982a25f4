const tries = 4;
const firstPauseMs = 250;

/**
 * A part of the page's script that could not be loaded. React keeps that for as long as the page is
 * open, and so do some browsers: then only a reload helps.
 */
export class ChunkLoadError extends Error {
  constructor(cause: unknown) {
    super('a part of the page could not be loaded', { cause });
  }
}

/** Loads a part of the page's script; on a busy machine a request may fail once. */
export function lazyChunk<T>(load: () => Promise<T>): () => Promise<T> {
  return async () => {
    for (let failures = 1; ; failures++) {
      try {
        return await load();
      } catch (error) {
        if (failures >= tries) throw new ChunkLoadError(error);
        await new Promise((done) => setTimeout(done, firstPauseMs * 2 ** failures));
      }
    }
  };
}

const reloadedKey = 'drawbridge.reloaded';

/** Reloads the page for a part that could not be loaded; not again within a minute. */
export function reloadOnce(): void {
  try {
    if (Date.now() - Number(sessionStorage.getItem(reloadedKey)) < 60_000) return;
    sessionStorage.setItem(reloadedKey, String(Date.now()));
  } catch {
    return; // without storage it could reload forever
  }
  location.reload();
}
