import { Button } from '@/components/button';
import { texts } from '@/lib/texts';

/** The maximum number of calls in a check. */
export const maxSelectedCalls = 200;

/** The toolbar above a session while the user selects calls. */
export function CheckSelectionBar({
  chosen,
  onNext,
  onCancel,
}: {
  chosen: number;
  onNext: () => void;
  onCancel: () => void;
}) {
  return (
    <div className="flex flex-wrap items-center gap-2 border-b bg-sunken px-4 py-2 text-sm md:px-5">
      <p role="status" className="min-w-0 flex-1">
        {chosen === 0
          ? 'Select the calls for this check.'
          : chosen === 1
            ? '1 selected'
            : `${chosen} selected`}
        {chosen >= maxSelectedCalls && (
          <span className="text-warn">
            {' '}
            {`A check can have at most ${maxSelectedCalls} calls.`}
          </span>
        )}
      </p>
      <Button small look="quiet" onClick={onCancel}>
        {texts.actions.cancel}
      </Button>
      <Button small look="primary" disabled={chosen === 0} onClick={onNext}>
        Next
      </Button>
    </div>
  );
}
