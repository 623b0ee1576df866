/**
 * Runs `task` with a signal that is aborted after `ms` milliseconds.
 * Rejects then, whether or not the task looks at the signal.
 */
export async function withDeadline(ms, task) {
  const controller = new AbortController();
  let timer;
  const expired = new Promise((_, reject) => {
    timer = setTimeout(() => {
      const err = new Error(`no answer within ${ms} ms`);
      controller.abort(err);
      reject(err);
    }, ms);
  });

  try {
    return await Promise.race([task(controller.signal), expired]);
  } finally {
    clearTimeout(timer);
  }
}
