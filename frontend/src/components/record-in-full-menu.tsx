import { CircleDot } from 'lucide-react';
import { Button } from '@/components/button';
import { Menu } from '@/components/menu';
import { useRecordFull, withFullRecording } from '@/lib/record-full';

/** Records the payloads of a session in full for a while. */
export function RecordInFullMenu({ session }: { session: string }) {
  const record = useRecordFull();
  return (
    <Menu
      items={[
        { heading: 'Payloads of up to 8 MiB' },
        ...[15, 60, 480].map((minutes) => ({
          text:
            minutes < 60
              ? `For ${minutes} minutes`
              : minutes === 60
                ? 'For an hour'
                : `For ${minutes / 60} hours`,
          onSelect: () => record.mutate(withFullRecording({ session }, minutes)),
        })),
      ]}
    >
      <Button small look="quiet" disabled={record.isPending}>
        <CircleDot className="size-3.5" aria-hidden />
        Record in full
      </Button>
    </Menu>
  );
}
