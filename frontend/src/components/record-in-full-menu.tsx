import { CircleDot } from 'lucide-react';
import { Button } from '@/components/button';
import { Menu } from '@/components/menu';
import { useRecordFull, withFullRecording } from '@/lib/record-full';
import { texts } from '@/lib/texts';

const t = texts.recordFull;

/** Records the payloads of a session in full for a while. */
export function RecordInFullMenu({ session }: { session: string }) {
  const record = useRecordFull();
  return (
    <Menu
      items={[
        { heading: t.hint },
        ...[15, 60, 480].map((minutes) => ({
          text: t.minutes(minutes),
          onSelect: () => record.mutate(withFullRecording({ session }, minutes)),
        })),
      ]}
    >
      <Button small look="quiet" disabled={record.isPending}>
        <CircleDot className="size-3.5" aria-hidden />
        {t.title}
      </Button>
    </Menu>
  );
}
