import { useState } from 'react';
import { TextField } from '@/components/text-field';
import { describeTest, describeWhere } from '@/lib/argument-rules';
import { escapeControlCharacters } from '@/lib/format';
import { isRecord } from '@/lib/own-property';

const numbers = ['min', 'max', 'minBytes', 'maxBytes'];

/** The fields of a condition on arguments: one for each test. Nested conditions are only shown. */
export function ConditionFields({
  where,
  onChange,
}: {
  where: Record<string, unknown>;
  /** `path` leads to the value of a test within the condition. */
  onChange: (path: string[], value: unknown) => void;
}) {
  return (
    <div className="grid gap-3 sm:grid-cols-2">
      {Object.entries(where).flatMap(([name, tests]) =>
        ['all', 'any', 'not'].includes(name) || !isRecord(tests)
          ? [
              <p key={name} className="col-span-full text-sm text-ink2 [overflow-wrap:anywhere]">
                {escapeControlCharacters(describeWhere({ [name]: tests }).slice(0, 400))}
              </p>,
            ]
          : Object.entries(tests).map(([test, value]) => (
              <ValueField
                key={`${name} ${test}`}
                label={escapeControlCharacters(describeTest(name, test).slice(0, 200))}
                test={test}
                value={value}
                onChange={(to) => onChange([name, test], to)}
              />
            )),
      )}
    </div>
  );
}

/** The value of a test; several texts are separated by " | ". A value that is not valid is not taken over. */
function ValueField({
  label,
  test,
  value,
  onChange,
}: {
  label: string;
  test: string;
  value: unknown;
  onChange: (to: unknown) => void;
}) {
  const shown = Array.isArray(value) ? value.join(' | ') : String(value);
  const [typed, setTyped] = useState<string>();
  const text = typed ?? shown;
  const isNumber = numbers.includes(test);
  const faultOf = (text: string) =>
    text.trim() === ''
      ? 'Enter a value.'
      : isNumber && !Number.isFinite(Number(text))
        ? 'Enter a number.'
        : undefined;
  const fault = faultOf(text);
  const type = (to: string) => {
    setTyped(to);
    if (faultOf(to)) return;
    if (isNumber) onChange(Number(to));
    else onChange(Array.isArray(value) ? to.split(' | ') : to);
  };
  if (typeof value === 'boolean') return null;
  return (
    <TextField
      label={label}
      inputMode={isNumber ? 'decimal' : 'text'}
      value={text}
      fault={typed === undefined ? undefined : fault}
      onChange={type}
      onBlur={() => setTyped(undefined)}
    />
  );
}
