// Starts a daemon with the files of a scene of the browser tests, for npm run dev:
// make daemon; node dev/demo.mjs [empty|full|moving|trouble]. Ctrl-C stops it and deletes its files.
import { startDaemon } from '../e2e/daemon.mjs';

const daemon = await startDaemon(process.argv[2]);
const { url } = await daemon.api('POST', '/open-code', {});
console.log(`DRAWBRIDGE_URL=${daemon.url} npm run dev\n${url}`);
