// Clicks and keys that reach their element. While a page opens or loads, it moves the focus and
// replaces elements. Between two steps of Playwright a key can then go to another element, and a
// click to none.
import { pause, timeoutMs } from './waiting.mjs';

/** Runs in the page before its scripts: records whether the last click was lost. */
export function watchClicks() {
  const controls = 'a, button, input, label, select, summary, textarea, [role], [tabindex]';
  let pressed;
  let arrived = false;
  const pointerdown = ({ target }) => {
    pressed = target.closest?.(controls) ?? target;
    arrived = false;
  };
  const click = (event) => {
    arrived ||= event.composedPath().includes(pressed);
  };
  addEventListener('pointerdown', pointerdown, true);
  addEventListener('click', click, true);
  // Removed between the two events: the browser sends the click to what is still there.
  window.lastClickIsLost = () => pressed !== undefined && !pressed.isConnected && !arrived;
}

/** Makes the methods click and press of all locators repeat what did not reach their element. */
export function repeatLostInput(page) {
  const locators = Object.getPrototypeOf(page.locator('html'));
  if (locators.repeating) return;
  locators.repeating = true;
  const { click } = locators;
  locators.click = async function (...rest) {
    for (const end = Date.now() + timeoutMs; ; ) {
      await click.apply(this, rest);
      const lost = this.page().evaluate(() => window.lastClickIsLost?.());
      if (!(await lost.catch(() => false)) || Date.now() >= end) return;
    }
  };
  locators.press = async function (key, options) {
    for (const end = Date.now() + timeoutMs; ; await pause(50)) {
      const element = await this.elementHandle(options);
      if (await pressAt(element, () => element.press(key, options))) return;
      if (Date.now() >= end) throw new Error(`${key} does not reach ${this}`);
    }
  };
}

/** Runs press, and returns whether its key reached element. Another element does not receive it. */
export async function pressAt(element, press) {
  const keys = await element.evaluateHandle(onlyFor);
  try {
    await press();
  } catch (error) {
    if (!/not attached/.test(error.message)) throw error;
  }
  return keys.evaluate((one) => one.end()).catch(() => true); // the key left the page
}

function onlyFor(element) {
  let arrived = 0;
  let lost = 0;
  const keydown = (event) => {
    if (event.composedPath().includes(element)) {
      arrived++;
      return;
    }
    lost++;
    event.preventDefault();
    event.stopImmediatePropagation();
  };
  const { defaultView } = element.ownerDocument;
  defaultView.addEventListener('keydown', keydown, true);
  return {
    end() {
      defaultView.removeEventListener('keydown', keydown, true);
      return arrived > 0 && lost === 0;
    },
  };
}
