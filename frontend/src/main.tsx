import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { App, makeApp } from '@/app/app';
import { exchangeSignInCode } from '@/features/session/api';
import { ChunkLoadError } from '@/lib/lazy-chunk';
import { RequestError } from '@/lib/request';
import { watchTheme } from '@/lib/theme';
import './styles.css';

watchTheme();
// Not a top-level await: WebKit runs the lazy parts of the page before such a module has ended
// (https://bugs.webkit.org/show_bug.cgi?id=242740).
void start();

async function start() {
  // Before the router is created, because it would parse the code as the path of a page.
  const entered = await exchangeSignInCode(location, history);
  const root = document.getElementById('root');
  if (!root) return;
  createRoot(root, {
    // A failed request is shown in place of its data; it is not an error of the page.
    onCaughtError: (error) => {
      if (error instanceof ChunkLoadError) console.warn(error, error.cause);
      else if (!(error instanceof RequestError)) console.error(error);
    },
  }).render(
    <StrictMode>
      <App app={makeApp()} spent={!entered} />
    </StrictMode>,
  );
}
