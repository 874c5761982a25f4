import {
  acceptCompletion,
  autocompletion,
  type CompletionSource,
  closeBrackets,
  closeBracketsKeymap,
} from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { json } from '@codemirror/lang-json';
import { yaml } from '@codemirror/lang-yaml';
import {
  bracketMatching,
  codeFolding,
  foldGutter,
  foldKeymap,
  indentOnInput,
  StreamLanguage,
  syntaxHighlighting,
} from '@codemirror/language';
import { json as jsonc } from '@codemirror/legacy-modes/mode/javascript';
import { type Diagnostic, lintGutter, setDiagnostics } from '@codemirror/lint';
import { unifiedMergeView } from '@codemirror/merge';
import { highlightSelectionMatches, searchKeymap } from '@codemirror/search';
import { EditorState, type Extension } from '@codemirror/state';
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  highlightSpecialChars,
  keymap,
  lineNumbers,
} from '@codemirror/view';
import { tagHighlighter, tags } from '@lezer/highlight';
import { useEffect, useLayoutEffect, useMemo, useRef } from 'react';
import { escapeControlCharacters } from '@/lib/format';
import { withoutPrototypes } from '@/lib/own-property';
import { useWideScreen } from '@/lib/wide-screen';

const phrasesTexts = withoutPrototypes({
  Completions: 'Suggestions',
  '$ unchanged lines': '$ unchanged lines',
} as const);

// CodeMirror, in its own chunk. Only lazy-code-editor.tsx imports it and
// codemirror-unified-diff.tsx, lazily.

export type Language = 'json' | 'jsonc' | 'yaml' | 'text';

const languages: Record<Language, () => Extension> = {
  json,
  // The grammar of lang-json has no comments.
  jsonc: () =>
    StreamLanguage.define({
      ...jsonc,
      token: (stream, state) => {
        const token = jsonc.token(stream, state);
        return token === 'string property' ? 'propertyName' : token;
      },
    }),
  yaml,
  text: () => [],
};

const highlighter = tagHighlighter([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], class: 'text-accent' },
  { tag: tags.string, class: 'text-ok' },
  { tag: tags.number, class: 'text-warn' },
  { tag: [tags.bool, tags.null, tags.keyword, tags.atom], class: 'text-bad' },
  { tag: tags.comment, class: 'text-ink3 italic' },
  { tag: [tags.punctuation, tags.separator, tags.brace, tags.squareBracket], class: 'text-ink3' },
]);

const theme = EditorView.theme({
  '&': { color: 'var(--ink)', fontSize: 'var(--text-xs)', maxHeight: 'inherit' },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': {
    fontFamily: 'var(--font-mono)',
    lineHeight: '1.6',
    overflow: 'auto',
    overscrollBehavior: 'contain',
    scrollbarWidth: 'thin',
    scrollbarColor: 'var(--strong) transparent',
  },
  '.cm-content': { caretColor: 'var(--ink)', padding: '0.5rem 0' },
  '.cm-content:focus-visible': { outline: 'none' },
  '.cm-line': { padding: '0 0.75rem' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '.cm-selectionBackground, &.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground':
    { backgroundColor: 'var(--accent-soft)' },
  '.cm-gutters': {
    backgroundColor: 'var(--sunken)',
    color: 'var(--ink3)',
    borderRight: '1px solid var(--line)',
  },
  '.cm-activeLine': { backgroundColor: 'transparent' },
  '&.cm-focused .cm-activeLine': {
    backgroundColor: 'color-mix(in srgb, var(--hover) 60%, transparent)',
  },
  '.cm-activeLineGutter': { backgroundColor: 'transparent', color: 'var(--ink)' },
  '.cm-matchingBracket, &.cm-focused .cm-matchingBracket': {
    backgroundColor: 'transparent',
    outline: '1px solid var(--strong)',
  },
  '.cm-foldPlaceholder': {
    backgroundColor: 'var(--panel)',
    borderColor: 'var(--strong)',
    color: 'var(--ink2)',
  },
  '.cm-tooltip, .cm-panels': {
    backgroundColor: 'var(--panel)',
    color: 'var(--ink)',
    border: '1px solid var(--line)',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul': { fontFamily: 'var(--font-mono)' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li': { padding: '0.25rem 0.5rem' },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]': {
    backgroundColor: 'var(--accent-soft)',
    color: 'var(--ink)',
  },
  '.cm-completionMatchedText': { textDecoration: 'none', fontWeight: '600' },
  '.cm-completionInfo': { fontFamily: 'var(--font-sans)', maxWidth: '20rem' },
  '.cm-diagnostic-error': { borderLeftColor: 'var(--bad)' },
  '.cm-diagnostic-warning': { borderLeftColor: 'var(--warn)' },
  '.cm-specialChar': { color: 'var(--bad)' },
  // The sign has the same meaning as the colour.
  '.cm-changedLine, .cm-deletedLine': { position: 'relative' },
  '.cm-changedLine:before, .cm-deletedLine:before': { position: 'absolute', left: '0.5ch' },
  '.cm-changedLine:before': { content: '"+"', color: 'var(--ok)' },
  '.cm-deletedLine:before': { content: '"−"', color: 'var(--bad)' },
  '&.cm-merge-b .cm-changedLine': { backgroundColor: 'var(--ok-soft)' },
  '&.cm-merge-b .cm-deletedChunk': { backgroundColor: 'var(--bad-soft)', paddingLeft: '0' },
  '&.cm-merge-b .cm-deletedLine': { padding: '0 0.75rem 0 2ch' },
  '&.cm-merge-b .cm-line': { paddingLeft: '2ch' },
  '&.cm-merge-b .cm-changedText': {
    background: 'color-mix(in srgb, var(--ok) 20%, transparent)',
  },
  '&.cm-merge-b .cm-deletedText, & .cm-deletedChunk .cm-deletedText': {
    background: 'color-mix(in srgb, var(--bad) 20%, transparent)',
  },
  '.cm-collapsedLines': { color: 'var(--ink2)', background: 'var(--hover)' },
  // Many fonts lack CodeMirror's own sign.
  '& .cm-collapsedLines:before, & .cm-collapsedLines:after': { content: '"…"' },
});

/** The content security policy of the page allows style elements only with this nonce. */
const nonce = document.querySelector<HTMLMetaElement>('meta[name="style-nonce"]')?.content ?? '';

export const shared: Extension = [
  EditorView.cspNonce.of(nonce),
  theme,
  syntaxHighlighting(highlighter),
  highlightSpecialChars({ addSpecialChars: /[\u202a-\u202c\u2066-\u2069]/g }),
  EditorView.lineWrapping,
  EditorState.phrases.of(phrasesTexts),
];

/**
 * Replaces selected text without the browser. Chromium would copy the style of the replaced text
 * into a style attribute, which the content security policy forbids and reports.
 */
const replaceSelection = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const selection = document.getSelection();
    const { data } = event;
    if (event.inputType !== 'insertText' || !data || view.composing) return false;
    if (!selection || selection.isCollapsed) return false;
    const range = selection.getRangeAt(0); // the state may not contain it yet
    const from = view.posAtDOM(range.startContainer, range.startOffset);
    const to = view.posAtDOM(range.endContainer, range.endOffset);
    const insert = () =>
      view.state.update({
        changes: { from, to, insert: data },
        selection: { anchor: from + data.length },
        userEvent: 'input.type',
        scrollIntoView: true,
      });
    event.preventDefault();
    const handlers = view.state.facet(EditorView.inputHandler);
    if (!handlers.some((handle) => handle(view, from, to, data, insert))) view.dispatch(insert());
    return true;
  },
});

/** Read-only text: a region that can be scrolled by keyboard. */
export const readOnly = (label: string): Extension => [
  EditorState.readOnly.of(true),
  EditorView.editable.of(false),
  EditorView.contentAttributes.of({ role: 'region', 'aria-label': label, tabindex: '0' }),
];

export function useView(state: EditorState) {
  const parent = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    if (!parent.current) return;
    const view = new EditorView({ state, parent: parent.current });
    // A region is not a textbox.
    for (const name of ['aria-multiline', 'aria-readonly']) view.contentDOM.removeAttribute(name);
    return () => view.destroy();
  }, [state]);
  return parent;
}

/** The content is as long as its text, so the focus ring is around the box. */
const ring = 'has-[:focus-visible]:outline-2 has-[:focus-visible]:outline-accent';
export const box = `max-h-[28rem] overflow-hidden [&>.cm-editor]:max-h-[inherit] ${ring}`;

export function CodeView({
  text,
  label,
  language,
}: {
  text: string;
  label: string;
  language: Language;
}) {
  const wide = useWideScreen(); // narrow screens have no space for the gutter
  const state = useMemo(
    () =>
      EditorState.create({
        doc: text,
        extensions: [
          shared,
          readOnly(label),
          wide ? [codeFolding(), foldGutter()] : [],
          languages[language](),
        ],
      }),
    [text, label, language, wide],
  );
  return <div ref={useView(state)} className={box} />;
}

// An empty text has one empty line, which would be shown as removed.
const allNew = EditorView.theme({ '.cm-deletedChunk': { display: 'none' } });

/** The differences between two texts, in one column. */
export function MergeDiff({
  before,
  after,
  label,
}: {
  before: string;
  after: string;
  label: string;
}) {
  const state = useMemo(
    () =>
      EditorState.create({
        doc: after,
        extensions: [
          shared,
          readOnly(label),
          before === '' ? allNew : [],
          unifiedMergeView({
            original: before,
            mergeControls: false,
            gutter: false,
            syntaxHighlightDeletions: false,
            collapseUnchanged: { margin: 3, minSize: 8 },
          }),
        ],
      }),
    [before, after, label],
  );
  return <div ref={useView(state)} className={`${box} rounded-md border bg-sunken`} />;
}

export interface Mark {
  /** From 1. */
  line: number;
  column?: number | undefined;
  severity: 'error' | 'warning';
  message: string;
}

export interface Completion {
  text: string;
  note: string;
  insert: string;
  from: number;
  to: number;
}

const most = 20;

export interface EditorProps {
  label: string;
  value: string;
  language: Language;
  onChange: (value: string) => void;
  /** Ctrl+S, or Cmd+S. */
  onSave?: () => void;
  /** The editor opens at the first error. */
  marks?: Mark[];
  /** The completions at an offset. */
  complete?: ((text: string, at: number) => Completion[]) | undefined;
  describedBy?: string;
  className?: string;
}

export function Editor(props: EditorProps) {
  const { label, value, language, describedBy, className } = props;
  const parent = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(undefined);
  const latest = useRef(props);
  latest.current = props;
  // biome-ignore lint/correctness/useExhaustiveDependencies: value and marks are updated below
  useLayoutEffect(() => {
    if (!parent.current) return;
    const made = new EditorView({
      parent: parent.current,
      state: EditorState.create({
        doc: value,
        extensions: [
          shared,
          languages[language](),
          replaceSelection,
          lineNumbers(),
          lintGutter(),
          history(),
          drawSelection(),
          bracketMatching(),
          closeBrackets(),
          indentOnInput(),
          highlightActiveLine(),
          highlightActiveLineGutter(),
          highlightSelectionMatches(),
          autocompletion({
            override: [(context) => source(context, latest.current)],
            icons: false,
          }),
          keymap.of([
            {
              key: 'Mod-s',
              preventDefault: true,
              run: () => {
                latest.current.onSave?.();
                return true;
              },
            },
            { key: 'Tab', run: acceptCompletion },
            { key: 'Mod-Enter', run: () => true }, // reserved for the form around the editor
            ...closeBracketsKeymap,
            ...searchKeymap,
            ...historyKeymap,
            ...foldKeymap,
            ...defaultKeymap,
          ]),
          EditorView.contentAttributes.of({
            'aria-label': label,
            tabindex: '0', // for checkers that do not know that editable content is focusable
            ...(describedBy && { 'aria-describedby': describedBy }),
          }),
          EditorView.scrollMargins.of((shown) => covered(shown, describedBy)),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) latest.current.onChange(update.state.doc.toString());
          }),
        ],
      }),
    });
    view.current = made;
    const fault = latest.current.marks?.find(({ severity }) => severity === 'error');
    if (fault) {
      const { from } = diagnostic(made.state, fault);
      made.dispatch({
        selection: { anchor: from },
        effects: EditorView.scrollIntoView(from, { y: 'center' }),
      });
    }
    return () => made.destroy();
  }, [label, language, describedBy]);

  useEffect(() => {
    const old = view.current?.state.doc;
    if (!old || old.toString() === value) return;
    view.current?.dispatch({ changes: { from: 0, to: old.length, insert: value } });
  }, [value]);

  const marks = useMemo(() => JSON.stringify(props.marks ?? []), [props.marks]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a change of the text moves the marks
  useEffect(() => {
    const current = view.current;
    if (!current) return;
    const found = (JSON.parse(marks) as Mark[]).map((mark) => diagnostic(current.state, mark));
    current.dispatch(setDiagnostics(current.state, found));
  }, [marks, value, label, language, describedBy]);

  return (
    <div
      ref={parent}
      className={`overflow-hidden rounded-md border border-strong bg-sunken [&>.cm-editor]:h-full [&>.cm-editor]:max-h-[inherit] ${ring} ${className ?? ''}`}
    />
  );
}

/** The height at the bottom of the window that messages below the editor cover while they stick there. */
function covered({ dom }: EditorView, messages: string | undefined) {
  const top = document.getElementById(messages ?? '')?.getBoundingClientRect().top;
  if (top === undefined || dom.getBoundingClientRect().bottom <= top) return null;
  return { bottom: Math.max(0, window.innerHeight - top) + 8 };
}

/** A key, a string or a word. */
const token = /^(?:"(?:[^"\\]|\\.)*"|[^\s,:{}[\]"]+)/;

/** Marks the token at a position, or the rest of the line. */
function diagnostic({ doc }: EditorState, { line, column, severity, message }: Mark): Diagnostic {
  const at = doc.line(Math.max(1, Math.min(line, doc.lines)));
  const indent = /^\s*/.exec(at.text)?.[0].length ?? 0;
  const from = Math.min(at.from + (column ? column - 1 : indent), at.to);
  const length = column ? token.exec(at.text.slice(from - at.from))?.[0].length : undefined;
  const to = length ? from + length : at.to;
  return { from, to, severity, message: escapeControlCharacters(message) };
}

function source(context: Parameters<CompletionSource>[0], { complete, value }: EditorProps) {
  const text = context.state.doc.toString();
  const list = (complete?.(text, context.pos) ?? []).slice(0, most);
  const [first] = list;
  if (!first) return null;
  // Without a request only while a word is typed, and not if it is already complete.
  const typing = list.some((one) => one.from < context.pos);
  const inserted = list.length === 1 && text.slice(first.from, first.to) === first.insert;
  if (!context.explicit && (!typing || inserted || value === '')) return null;
  return {
    from: first.from,
    to: first.to,
    filter: false,
    options: list.map(({ text, note, insert }) => ({
      label: escapeControlCharacters(text),
      ...(note && { info: escapeControlCharacters(note) }),
      apply: insert,
    })),
  };
}
