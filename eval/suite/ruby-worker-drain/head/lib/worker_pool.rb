# frozen_string_literal: true

# Runs jobs on a fixed number of threads.
class WorkerPool
  class Closed < StandardError; end

  def initialize(threads, logger:)
    @logger = logger
    @queue = Queue.new
    @threads = Array.new(threads) { Thread.new { work } }
  end

  # Raises Closed once the pool is being shut down.
  def submit(&job)
    raise ArgumentError, "no block given" unless job

    @queue << job
  rescue ClosedQueueError
    raise Closed, "the pool takes no more jobs"
  end

  # Takes no more jobs, waits for the ones that were submitted, and returns true
  # when they are all done or the pool was stopped before. After `seconds` it
  # gives up and returns false: then jobs that are still running are cut off and
  # waiting ones dropped.
  def shut_down(seconds)
    @queue.close
    deadline = now + seconds
    finished = @threads.all? { |thread| thread.join([deadline - now, 0].max) }
    stop unless finished
    finished
  end

  # Stops the threads; jobs that are running are cut off, waiting ones dropped.
  def stop
    @queue.close
    @threads.each(&:kill).each(&:join)
  end

  private

  def work
    while (job = @queue.pop)
      begin
        job.call
      rescue Exception => e # a job must not take its thread down, whatever it raises
        @logger.error("job failed: #{e.class}: #{e.message}")
      end
    end
  end

  def now
    Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end
end
