/** The font size relative to the default: sizes in pixels are multiplied by it. */
export function measureFontScale(): number {
  return (Number.parseFloat(getComputedStyle(document.documentElement).fontSize) || 16) / 16;
}
