// Detects hostile text that became markup, a script, a link or a request.

/** Records scripts that ran, violations of the page's policy, and requests to other hosts. */
export async function watchForInjection(page, origin) {
  page.strange = [];
  page.on('request', (request) => {
    const url = request.url();
    if (!url.startsWith(origin) && !url.startsWith('blob:') && !url.startsWith('data:'))
      page.strange.push(url.slice(0, 200));
  });
  await page.addInitScript(() => {
    window.hits = [];
    window.hit = () => window.hits.push('a script ran');
    document.addEventListener('securitypolicyviolation', (event) =>
      window.hits.push(`policy: ${event.violatedDirective} ${event.blockedURI}`),
    );
  });
}

/** Returns each success of an attack on the page. */
export function findInjections(page) {
  return page.evaluate(() => {
    const bad = [...window.hits];
    for (const a of document.querySelectorAll('[href]')) {
      const to = a.getAttribute('href');
      if (/^\s*(javascript|data|vbscript|file|https?):/i.test(to) && a.tagName === 'A')
        bad.push(`a live link: ${to.slice(0, 80)}`);
    }
    for (const one of document.querySelectorAll('body *')) {
      if (
        /^(script|iframe|object|embed|form\[action\]|base|meta|style|marquee|math)$/i.test(
          one.tagName,
        )
      )
        bad.push(`an element: ${one.tagName}`);
      for (const { name } of one.attributes)
        if (name.startsWith('on')) bad.push(`a handler: ${name}`);
    }
    if ({}.polluted) bad.push('the prototype is polluted');
    return bad;
  });
}
