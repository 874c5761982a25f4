// Runs before the first paint, so that a dark page never flashes white.
// A file of its own, because the page's policy allows no inline script.
(() => {
  let choice = null;
  try {
    choice = localStorage.getItem('drawbridge.theme');
  } catch {
    // Storage can be switched off; the system's choice then holds.
  }
  const dark =
    choice === 'dark' || (choice !== 'light' && matchMedia('(prefers-color-scheme: dark)').matches);
  document.documentElement.dataset.theme = dark ? 'dark' : 'light';
})();
