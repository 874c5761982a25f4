import { type ComponentProps, lazy, Suspense } from 'react';
import { lazyChunk } from '@/lib/lazy-chunk';
import { measureFontScale } from '@/lib/measure-font-scale';

/** Loads the chart. uPlot formats numbers in the language of the browser while it is loaded. */
export const loadChart = lazyChunk(() => {
  ensureLanguage();
  return import('./time-chart');
});

/** WebKitGTK names the POSIX locale "C" as its language, which Intl rejects. */
export function ensureLanguage() {
  try {
    new Intl.NumberFormat(navigator.language);
  } catch {
    Object.defineProperty(navigator, 'language', { value: 'en-US', configurable: true });
  }
}

const LazyChart = lazy(async () => ({ default: (await loadChart()).TimeChart }));

/** A chart over time; its space is reserved until it is loaded. */
export function Chart({
  height = 180 * measureFontScale(),
  ...props
}: Omit<ComponentProps<typeof LazyChart>, 'height'> & { height?: number | undefined }) {
  return (
    <Suspense fallback={<ChartSpace height={height} />}>
      <LazyChart height={height} {...props} />
    </Suspense>
  );
}

/** Reserves the space of a chart of that height. */
export function ChartSpace({ height }: { height: number }) {
  return (
    <div aria-hidden data-loading>
      <div className="mb-1 min-h-5" />
      <svg width="1" height={height} className="block" />
    </div>
  );
}
