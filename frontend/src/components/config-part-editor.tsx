import { useQuery } from '@tanstack/react-query';
import { CircleAlert, CircleCheck, TriangleAlert } from 'lucide-react';
import { type ComponentProps, useId, useMemo } from 'react';
import { EditorMessages } from '@/components/editor-messages';
import { CodeEditor, type Mark } from '@/components/lazy-code-editor';
import {
  completionsAt,
  type SchemaViolation,
  schemaViolations,
} from '@/lib/config-completion-and-validation';
import { configSchemaQuery } from '@/lib/config-file';
import { cut, escapeControlCharacters } from '@/lib/format';
import { type JsonFault, type JsonPath, jsonFault, readJsonc } from '@/lib/jsonc';
import { withoutPrototypes } from '@/lib/own-property';
import { texts } from '@/lib/texts';

const wrongTexts = withoutPrototypes({
  unknown: (path: string, near: string) =>
    `Unknown key “${path}”; it is ignored.${near ? ` Did you mean “${near}”?` : ''}`,
  type: (path: string, wanted: string) =>
    `${path ? `“${path}”` : 'The value'} must be of type ${wanted}.`,
  choice: (path: string, wanted: string) => `“${path}” must be one of: ${wanted}.`,
  range: (path: string, wanted: string) => `“${path}” must be ${wanted}.`,
} as const);

/**
 * An editor for one value of the configuration. It completes keys and values by the schema, marks
 * errors, and lists them below the text.
 */
export function ConfigPartEditor({
  base,
  language,
  ...editor
}: Pick<
  ComponentProps<typeof CodeEditor>,
  'label' | 'value' | 'onChange' | 'onSave' | 'className'
> & {
  /** The path of the value in the file. It must be a constant. */
  base: JsonPath;
  /** Whether comments are allowed. */
  language: 'json' | 'jsonc';
}) {
  const { value } = editor;
  const id = useId();
  const { data: schema } = useQuery(configSchemaQuery);
  const fault = language === 'json' ? jsonFault(value) : readJsonc(value).fault;
  const wrong = useMemo(
    () => (schema && !fault ? schemaViolations(schema, value, base) : []),
    [schema, fault, value, base],
  );
  return (
    <div className="space-y-1">
      <CodeEditor
        {...editor}
        language={language}
        marks={fault ? [syntaxMark(fault)] : wrong.map(violationMark)}
        complete={schema && ((text, at) => completionsAt(schema, text, at, base))}
        describedBy={`${id}-errors`}
      />
      <EditorMessages id={`${id}-errors`} value={value} className="text-xs">
        {fault ? (
          <Line look="bad">{texts.editor.syntax(fault.line, fault.column)}</Line>
        ) : (
          <Violations list={wrong} />
        )}
      </EditorMessages>
    </div>
  );
}

export const syntaxMark = (fault: JsonFault): Mark => ({
  ...fault,
  severity: 'error',
  message: texts.editor.syntax(fault.line, fault.column),
});

export const violationMark = ({ line, column, kind, path, wanted }: SchemaViolation): Mark => ({
  line,
  column,
  severity: kind === 'unknown' ? 'warning' : 'error',
  message: wrongTexts[kind](cut(path, 200), wanted),
});

/** Violations of the schema, with their lines. */
export function Violations({ list }: { list: SchemaViolation[] }) {
  if (list.length === 0) return null;
  return (
    <ul className="space-y-1">
      {list.map((one) => (
        <li key={`${one.path} ${one.kind}`}>
          <Line look={one.kind === 'unknown' ? 'warn' : 'bad'}>
            {escapeControlCharacters(`${`Line ${one.line}`}: ${violationMark(one).message}`)}
          </Line>
        </li>
      ))}
    </ul>
  );
}

const looks = {
  ok: { icon: CircleCheck, ink: 'text-ok' },
  warn: { icon: TriangleAlert, ink: 'text-warn' },
  bad: { icon: CircleAlert, ink: 'text-bad' },
};

/** A sentence about the text of an editor. */
export function Line({ look, children }: { look: keyof typeof looks; children: string }) {
  const { icon: Icon, ink } = looks[look];
  return (
    <p className={`flex gap-2 [overflow-wrap:anywhere] ${ink}`}>
      <Icon className="mt-0.5 size-4 shrink-0" aria-hidden />
      {children}
    </p>
  );
}
