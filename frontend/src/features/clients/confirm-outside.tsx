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
      title={
        files.length === 1
          ? 'Change a file outside your home folder?'
          : `Change ${files.length} files outside your home folder?`
      }
      action="Apply"
      keep={texts.actions.cancel}
      onConfirm={onConfirm}
      onClose={onClose}
    >
      The configuration of the client is a link. This changes:
      <ul className="mt-2 font-mono text-xs">
        {files.map((file) => (
          <li key={file}>{escapeControlCharacters(file)}</li>
        ))}
      </ul>
    </Confirm>
  );
}
