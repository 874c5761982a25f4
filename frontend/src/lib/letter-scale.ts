/** How large the letters are against the usual: what is laid out in pixels grows with them. */
export function letterScale(): number {
  return (Number.parseFloat(getComputedStyle(document.documentElement).fontSize) || 16) / 16;
}
