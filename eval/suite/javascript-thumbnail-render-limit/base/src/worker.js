import { Renderer } from './renderer.js';

/**
 * Renders every job that the queue yields; jobs run side by side.
 * The queue gets a job whenever an image is added or changed.
 * Returns how many ended in which status.
 */
export async function work(queue, store, scale, log = console) {
  const renderer = new Renderer(store, scale);
  const counts = { rendered: 0, fresh: 0, missing: 0, failed: 0 };
  const running = new Set();

  for await (const job of queue) {
    const task = renderer
      .render(job)
      .then(({ status }) => {
        counts[status] += 1;
      })
      .catch((err) => {
        counts.failed += 1;
        log.error(`thumbnail of ${job.key} failed`, err);
      })
      .finally(() => running.delete(task));
    running.add(task);
  }

  await Promise.all(running);
  return counts;
}
