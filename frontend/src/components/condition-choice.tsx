import { CheckBox } from '@/components/text-field';
import { describeWhere } from '@/lib/argument-rules';
import { escapeControlCharacters } from '@/lib/format';

/** The chosen conditions, of which all must hold, as the `where` of a rule; undefined for none. */
export function whereOf(conditions: string[], off: number[]): Record<string, unknown> | undefined {
  const chosen = conditions.filter((_, index) => !off.includes(index));
  return chosen.length > 0 ? Object.assign({}, ...chosen.map((one) => JSON.parse(one))) : undefined;
}

/** A choice of suggested conditions on arguments; `off` has the indexes of those not chosen. */
export function ConditionChoice({
  conditions,
  off,
  onChange,
}: {
  conditions: string[];
  off: number[];
  onChange: (off: number[]) => void;
}) {
  return (
    <fieldset className="space-y-1 text-sm">
      <legend className="mb-1 font-medium">Only when</legend>
      {conditions.map((one, index) => (
        <CheckBox
          key={one}
          label={escapeControlCharacters(describeWhere(JSON.parse(one)).slice(0, 400))}
          checked={!off.includes(index)}
          onChange={(on) => onChange(on ? off.filter((n) => n !== index) : [...off, index])}
        />
      ))}
    </fieldset>
  );
}
