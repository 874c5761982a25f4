import { SegmentedControl } from '@/components/segmented-control';
import { texts } from '@/lib/texts';
import { type Range, ranges, type Span } from '@/lib/time-range';
import type { UsageReport } from '@/types/api';

/** Selects the time range; a custom range starts with the current one. */
export function RangePicker({
  range,
  report,
  onChange,
}: {
  /** Undefined for a custom range. */
  range: Range | undefined;
  report: UsageReport | undefined;
  onChange: (span: Span) => void;
}) {
  return (
    <SegmentedControl
      label="Time"
      value={range ?? 'own'}
      options={[...ranges, 'own' as const].map((value) => ({ value, text: texts.ranges[value] }))}
      onChange={(value) =>
        onChange(
          value === 'own'
            ? { range: undefined, ...moments(report) }
            : { range: value, from: undefined, to: undefined },
        )
      }
    />
  );
}

/** The start and end of the report, as a custom range. */
function moments(report: UsageReport | undefined): Span {
  const moment = (text: string | undefined) => new Date(text ?? Date.now()).toISOString();
  return { from: moment(report?.from), to: moment(report?.to) };
}
