# frozen_string_literal: true

# Runs jobs on a fixed number of threads.
class WorkerPool
  def initialize(threads, logger:)
    @logger = logger
    @queue = Queue.new
    @threads = Array.new(threads) { Thread.new { work } }
  end

  def submit(&job)
    @queue << job
  end

  # Stops the threads; jobs that are running are cut off, waiting ones dropped.
  def stop
    @threads.each(&:kill).each(&:join)
  end

  private

  def work
    loop do
      job = @queue.pop
      begin
        job.call
      rescue Exception => e # a job must not take its thread down, whatever it raises
        @logger.error("job failed: #{e.class}: #{e.message}")
      end
    end
  end
end
