// The clock of a page whose time stands still: timers, animation frames and dates hang on it, and it moves only when
// `deskhandClock.advance` is called. Caret and styles are at rest too, for they do not hang on it.
(() => {
  const MOST = 20000; // callbacks of one advance: a page that does nothing but wake itself up must come to an end
  const FRAME = 50; // milliseconds between animation frames: nobody watches, and drawing them is what takes the time
  const RealDate = Date;
  const begin = 1735732800000; // noon on 1 January 2025, in UTC
  const timers = new Map();
  let now = begin;
  let last = 0;

  function StillDate(...given) {
    if (!new.target) return new RealDate(now).toString();
    return Reflect.construct(RealDate, given.length ? given : [now], new.target);
  }
  StillDate.prototype = RealDate.prototype;
  StillDate.prototype.constructor = StillDate;
  Object.assign(StillDate, { parse: RealDate.parse, UTC: RealDate.UTC, now: () => now });

  const add = (run, delay, every, given) => {
    timers.set(++last, { run, at: now + delay, every, given });
    return last;
  };
  const wait = delay => Math.max(1, Math.floor(Number(delay) || 0));
  const remove = id => void timers.delete(Number(id));
  const put = (place, name, value) => Object.defineProperty(place, name, { value, writable: true, configurable: true });

  put(window, 'Date', StillDate);
  put(window, 'setTimeout', (run, delay, ...given) => add(run, wait(delay), 0, given));
  put(window, 'setInterval', (run, delay, ...given) => add(run, wait(delay), wait(delay), given));
  put(window, 'requestAnimationFrame', run => add(() => run(now - begin), FRAME - ((now - begin) % FRAME), 0, []));
  put(window, 'requestIdleCallback', run => add(() => run({ didTimeout: false, timeRemaining: () => 10 }), 1, 0, []));
  for (const name of ['clearTimeout', 'clearInterval', 'cancelAnimationFrame', 'cancelIdleCallback']) {
    put(window, name, remove);
  }
  put(performance, 'now', () => now - begin);

  const advance = async milliseconds => {
    const end = now + milliseconds;
    for (let count = 0; count < MOST; count++) {
      let due = null;
      for (const [id, timer] of timers) {
        if (timer.at <= end && (due === null || timer.at < timers.get(due).at)) due = id;
      }
      if (due === null) break;
      const timer = timers.get(due);
      now = Math.max(now, timer.at);
      if (timer.every) timer.at = now + timer.every;
      else timers.delete(due);
      try {
        if (typeof timer.run === 'function') timer.run.apply(window, timer.given);
      } catch (error) {
        reportError(error);
      }
      await null; // what was promised meanwhile comes before the next timer
    }
    now = end;
  };
  put(window, 'deskhandClock', Object.freeze({ advance }));

  const rest = new CSSStyleSheet();
  rest.replaceSync('*, *::before, *::after { transition: none !important; animation: none !important; ' +
                   'caret-animation: manual !important; }');
  document.adoptedStyleSheets = [rest];
})();
