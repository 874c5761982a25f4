import type { Field } from '@/types/api';

/** The initial values of a form. */
export function initialValues(fields: Field[]): Record<string, string> {
  return Object.fromEntries(
    fields.filter((field) => field.default && !field.secret).map((f) => [f.key, f.default ?? '']),
  );
}

/** Required fields that are empty. */
export function missingFields(fields: Field[], values: Record<string, string>): Field[] {
  return fields.filter(
    (field) => field.required && !(values[field.key] ?? '').trim() && !field.default,
  );
}

/** The values that were entered, without empty ones. */
export function enteredValues(
  fields: Field[],
  values: Record<string, string>,
): Record<string, string> {
  return Object.fromEntries(
    fields
      .map((field): [string, string] => [field.key, values[field.key] ?? ''])
      .filter(([, value]) => value.trim() !== ''),
  );
}
