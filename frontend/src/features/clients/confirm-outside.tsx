import { Confirm } from '@/components/confirm';
import { escapeControlCharacters } from '@/lib/format';
import { texts } from '@/lib/texts';

/** Asks again for the files outside the home folder to which links of clients lead. */
export function ConfirmOutside({
  files,
  onConfirm,
  onClose,
}: {
  files: string[];
  onConfirm: () => void;
  onClose: () => void;
}) {
  return (
    <Confirm
      title={texts.connections.outsideTitle(files.length)}
      action={texts.connections.write(0)}
      keep={texts.actions.cancel}
      onConfirm={onConfirm}
      onClose={onClose}
    >
      {texts.connections.outsideBody}
      <ul className="mt-2 font-mono text-xs">
        {files.map((file) => (
          <li key={file}>{escapeControlCharacters(file)}</li>
        ))}
      </ul>
    </Confirm>
  );
}
