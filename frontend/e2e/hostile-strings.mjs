// 200 strings that could become markup, a script, a link, a terminal escape sequence or a broken
// layout. Each calls `hit()` if it is executed.
const run = 'hit(1)';

const elements = [
  `<script>${run}</script>`,
  `<ScRiPt>${run}</sCrIpT>`,
  `<script src="https://evil.test/x.js"></script>`,
  `<img src=x onerror=${run}>`,
  `<img src="https://evil.test/pixel.gif">`,
  `<IMG """><SCRIPT>${run}</SCRIPT>">`,
  `<svg onload=${run}>`,
  `<svg><script>${run}</script></svg>`,
  `<svg><animate onbegin=${run} attributeName=x dur=1s>`,
  `<svg><a xlink:href="javascript:${run}"><text>x</text></a></svg>`,
  `<svg><foreignObject><iframe srcdoc="<script>${run}</script>"></iframe></foreignObject></svg>`,
  `<math><mtext><table><mglyph><style><img src=x onerror=${run}>`,
  `<math href="javascript:${run}">x</math>`,
  `<iframe src="javascript:${run}"></iframe>`,
  `<iframe srcdoc="<script>parent.${run}</script>"></iframe>`,
  `<object data="javascript:${run}"></object>`,
  `<embed src="javascript:${run}">`,
  `<body onload=${run}>`,
  `<video><source onerror=${run}></video>`,
  `<audio src=x onerror=${run}>`,
  `<details open ontoggle=${run}>`,
  `<select onfocus=${run} autofocus>`,
  `<input onfocus=${run} autofocus>`,
  `<textarea autofocus onfocus=${run}>`,
  `<marquee onstart=${run}>`,
  `<meta http-equiv="refresh" content="0;url=javascript:${run}">`,
  `<meta http-equiv="refresh" content="0;url=https://evil.test/">`,
  `<base href="https://evil.test/">`,
  `<link rel=stylesheet href="https://evil.test/x.css">`,
  `<link rel=import href="https://evil.test/x">`,
  `<style>*{display:none}</style>`,
  `<style>@import "https://evil.test/x.css";</style>`,
  `<form action="javascript:${run}"><button>x</button></form>`,
  `<button formaction="javascript:${run}">x</button>`,
  `<isindex action="javascript:${run}" type=submit>`,
  `<a href="javascript:${run}">click</a>`,
  `<a href="data:text/html,<script>${run}</script>">click</a>`,
  `<template><script>${run}</script></template>`,
  `<noscript><p title="</noscript><img src=x onerror=${run}>">`,
  `<xmp><p title="</xmp><svg onload=${run}>">`,
  `<title><img src=x onerror=${run}></title>`,
  `<table background="javascript:${run}">`,
  `<div style="background:url(javascript:${run})">`,
  `<div style="width:expression(${run})">`,
  `<div style="position:fixed;inset:0;z-index:9999">x</div>`,
  `<x onclick=${run}>x</x>`,
  `<img src=x:x onerror\u0000=${run}>`,
  `<img/src/onerror=${run}>`,
  `<<script>${run}//<</script>`,
  `<!--<img src="--><img src=x onerror=${run}//">`,
  `<![CDATA[<script>${run}</script>]]>`,
  `<?xml version="1.0"?><script xmlns="http://www.w3.org/1999/xhtml">${run}</script>`,
];
const breakouts = [
  `"><script>${run}</script>`,
  `'><script>${run}</script>`,
  `"><img src=x onerror=${run}>`,
  `' onmouseover=${run} x='`,
  `" onfocus=${run} autofocus x="`,
  `\`><img src=x onerror=${run}>`,
  `</textarea><script>${run}</script>`,
  `</title><script>${run}</script>`,
  `</style><script>${run}</script>`,
  `</script><script>${run}</script>`,
  `]]><script>${run}</script>`,
  `--><script>${run}</script>`,
  `';${run};//`,
  `";${run};//`,
  `\\";${run};//`,
  `\${${run}}`,
  `{{constructor.constructor('${run}')()}}`,
  `#{${run}}`,
  `<%= ${run} %>`,
  `[[${run}]]`,
  `{{${run}}}`,
  `&lt;script&gt;${run}&lt;/script&gt;`,
  `&#60;script&#62;${run}&#60;/script&#62;`,
  `%3Cscript%3E${run}%3C/script%3E`,
  `\\u003cscript\\u003e${run}\\u003c/script\\u003e`,
  `\uff1cscript\uff1e${run}\uff1c/script\uff1e`,
  `+ADw-script+AD4-${run}+ADw-/script+AD4-`,
];
const addresses = [
  `javascript:${run}`,
  `JaVaScRiPt:${run}`,
  `java\tscript:${run}`,
  `java\nscript:${run}`,
  ` javascript:${run}`,
  `\u0001javascript:${run}`,
  `javascript://evil.test/%0a${run}`,
  `data:text/html,<script>${run}</script>`,
  `data:text/html;base64,PHNjcmlwdD5oaXQoMSk8L3NjcmlwdD4=`,
  `data:image/svg+xml,<svg onload="${run}"/>`,
  `vbscript:${run}`,
  'file:///etc/passwd',
  'blob:http://evil.test/1',
  'filesystem:http://evil.test/1',
  'view-source:http://evil.test/',
  'about:blank',
  'chrome://settings',
  '//evil.test/x',
  'https://evil.test/',
  'https://user:secret@evil.test/',
  'http://127.0.0.1:1/api/v1/servers',
  'ftp://evil.test/x',
  'ws://evil.test/x',
  'mailto:a@evil.test?body=x',
  'drawbridge://run?cmd=sh',
  '#/settings',
  '../../../../etc/passwd',
  '..%2f..%2f..%2fetc%2fpasswd',
  'C:\\Windows\\System32\\cmd.exe',
  '\\\\evil.test\\share',
];
const terminals = [
  '\u001b[31mred\u001b[0m',
  '\u001b[2J\u001b[H',
  '\u001b]0;title\u0007',
  '\u001b]8;;https://evil.test/\u0007link\u001b]8;;\u0007',
  '\u001b]52;c;ZWNobyBoaQ==\u0007',
  '\u001b[?1049h',
  '\u001bP+q544e\u001b\\',
  '\u009b31mC1\u009b0m',
  'bell\u0007bell\u0007',
  'back\b\b\b\bspace',
  'carriage\rreturn',
  'line\nfeed\r\nboth',
  'null\u0000byte',
  'form\ffeed\vtab',
  'del\u007fete',
];
const unicode = [
  'abc\u202egnp.exe',
  '\u202eevil\u202c',
  '\u2066isolate\u2069',
  '\u200b\u200bzero\u200bwidth\u200b',
  '\u2060\u2061\u2062\u2063',
  '\ufeffbom',
  'a\u0301\u0302\u0303\u0304\u0305\u0306\u0307\u0308\u0309\u030a'.repeat(20),
  'Z\u0351\u036b\u0343\u036a\u0302\u036b\u033d\u034f\u0334\u0319'.repeat(30),
  '\ud800 lone high',
  '\udc00 lone low',
  '\u{1f468}\u200d\u{1f469}\u200d\u{1f467}\u200d\u{1f466}',
  '\u{e0001}\u{e0041}\u{e0042}tag letters',
  '\u0645\u0631\u062d\u0628\u0627 \u0628\u0627\u0644\u0639\u0627\u0644\u0645',
  '\u05e9\u05dc\u05d5\u05dd',
  '\u4f60\u597d\u4e16\u754c'.repeat(30),
  '\u00a0\u00a0non-breaking\u00a0',
  '\u2028line\u2029paragraph',
  '\ufffd\ufffe\uffff',
  'i\u0130\u0131I',
  '\ufdfa'.repeat(40),
];
const shapes = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'valueOf',
  'hasOwnProperty',
  'undefined',
  'null',
  'NaN',
  'true',
  '0',
  '-1',
  '1e309',
  '9007199254740993',
  '{}',
  '[]',
  '{"__proto__":{"polluted":true}}',
  '{"a":',
  '"',
  "'",
  '\\',
  '\\u003cscript\\u003e',
  "$&$`$'$1",
  '%s%n%x%d',
  '%00',
  '$(touch /tmp/x)',
  '`id`',
  '; rm -rf / #',
  '| cat /etc/passwd',
  "' OR 1=1 --",
  '"; DROP TABLE calls; --',
  '=cmd|calc!A0',
  '+1+1',
  '@SUM(1)',
  '*'.repeat(300),
  '(a+)+$'.repeat(40),
  'A'.repeat(5000),
  'word '.repeat(2000),
  '<'.repeat(3000),
  '\n'.repeat(500),
  '# Heading\n\n[x](javascript:hit(1))\n\n![x](https://evil.test/p.png)',
  '[x]: javascript:hit(1)\n\n[x]',
  '<javascript:hit(1)>',
  '```html\n<script>hit(1)</script>\n```',
  'http://evil.test/?q="><script>hit(1)</script>',
  'Content-Type: text/html\r\n\r\n<script>hit(1)</script>',
];

const distinct = new Set([
  ...elements,
  ...breakouts,
  ...addresses,
  ...terminals,
  ...unicode,
  ...shapes,
]);
for (let i = 0; distinct.size < 200; i++)
  distinct.add(`<b id=x${i} onpointerenter=${run}>${elements[i]}</b>`);

export const corpus = [...distinct];
if (corpus.length !== 200) throw new Error(`the corpus has ${corpus.length} strings, not 200`);

/** A string of several kinds. */
export const evil =
  '<img src=x onerror=alert(1)>"><script>alert(1)</script>\u001b[31mred\u202Egnp.exe javascript:alert(1)';

/**
 * The same response with other strings in every field with text from servers and clients; the daemon
 * guarantees the format of all others. They are the next ones of `corpus`, or this one `everywhere`:
 * one that breaks URLs must not depend on the order of the requests to meet a link. Runs in the page.
 */
export function mangle(value, _path, { corpus, everywhere }) {
  window.nextString ??= 0;
  window.freeFields ??= new Set(
    'label reason detail message name title description text command client clientVersion workspace instance traceId path dir searchPath configured commandLine previous cwd rule trigger original publicName tool word method image status hint fix subject instructions prompt url problem next reload entry notice version protocolVersion session token project note serverInfo stderr warnings environment notes capabilities log diff configPath key file suggestion arguments result error failures contains after'.split(
      ' ',
    ),
  );
  const walk = (value, key) => {
    if (typeof value === 'string') {
      if (!window.freeFields.has(key) || value === '') return value;
      window.mangled = (window.mangled ?? 0) + 1;
      return everywhere ?? corpus[window.nextString++ % corpus.length];
    }
    if (Array.isArray(value)) return value.map((one) => walk(one, key));
    if (value && typeof value === 'object')
      return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, walk(v, k)]));
    return value;
  };
  return walk(value, '');
}
