import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { render } from '@testing-library/react';
import { expect, it } from 'vitest';
import { Logo } from './logo';

const read = (path: string) =>
  readFileSync(join(import.meta.dirname, '../..', path), 'utf8').replaceAll('\r\n', '\n');

/** The shapes and colours of a drawing, in order. */
function strokes(root: ParentNode): (string | null)[] {
  return [...root.querySelectorAll('rect, path, stop')].flatMap((shape) =>
    ['d', 'x', 'width', 'rx', 'stroke', 'stroke-width', 'stop-color'].map((name) =>
      shape.getAttribute(name),
    ),
  );
}

it('the page has the same logo as the window, the package and the browser tab', () => {
  const icon = read('../build/icons/app.svg');
  expect(read('public/icon.svg')).toBe(icon);
  const { container } = render(<Logo />);
  const drawn = strokes(container);
  expect(drawn.length).toBeGreaterThan(30);
  expect(drawn).toEqual(strokes(new DOMParser().parseFromString(icon, 'image/svg+xml')));
});
