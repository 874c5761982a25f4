import { fileURLToPath } from 'node:url';
import tailwindcss from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import type { Plugin } from 'vite';
import { defineConfig } from 'vitest/config';

// The daemon that `npm run dev` talks to.
const daemon = process.env.DRAWBRIDGE_URL ?? 'http://127.0.0.1:7575';

/** sonner adds a style element, which the page's policy forbids; styles.css imports its rules. */
const noStyleElements: Plugin = {
  name: 'no-style-elements',
  transform: (code, id) =>
    id.includes('/sonner/dist/') ? code.replace(/^__insertCSS\(".*"\);?$/m, '') : undefined,
};

export default defineConfig({
  base: './',
  plugins: [react(), tailwindcss(), noStyleElements],
  resolve: { alias: { '@': fileURLToPath(new URL('./src', import.meta.url)) } },
  build: {
    target: 'safari15',
    assetsInlineLimit: 0, // the Content-Security-Policy allows no data: URLs
    modulePreload: { polyfill: false },
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            // What the first page needs, in few files: each one more is a request on a cold start.
            { name: 'libraries', tags: ['$initial'], test: /node_modules/, priority: 2 },
            { name: 'first', tags: ['$initial'], priority: 1 },
            {
              name: 'editor',
              test: /node_modules\/(@codemirror|@lezer|@marijn|style-mod|crelt|w3c-keyname)\//,
            },
          ],
        },
      },
    },
  },
  server: {
    port: 5173,
    strictPort: true,
    // The daemon refuses foreign Host and Origin headers, so both become its own.
    proxy: {
      '/api': {
        target: daemon,
        changeOrigin: true,
        configure: (proxy) =>
          proxy.on('proxyReq', (request) => request.setHeader('Origin', daemon)),
      },
    },
  },
  test: {
    environment: 'happy-dom',
    setupFiles: ['./src/test-setup.ts'],
    restoreMocks: true,
    // A busy machine may not give a worker its turn for longer than the usual five seconds.
    testTimeout: 30_000,
  },
});
