import { lazy } from 'react';

export type { Completion, Mark } from './codemirror';

export const loadCode = () => import('./codemirror');

// Until CodeMirror is there the page around it waits, so that nothing below it moves.
export const CodeView = lazy(async () => ({ default: (await loadCode()).CodeView }));
export const MergeDiff = lazy(async () => ({ default: (await loadCode()).MergeDiff }));
export const CodeEditor = lazy(async () => ({ default: (await loadCode()).Editor }));
