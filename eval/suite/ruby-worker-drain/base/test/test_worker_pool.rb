# frozen_string_literal: true

require "logger"
require "minitest/autorun"
require "stringio"
require_relative "../lib/worker_pool"

class WorkerPoolTest < Minitest::Test
  def setup
    @log = StringIO.new
    @pool = WorkerPool.new(2, logger: Logger.new(@log))
  end

  def teardown
    @pool.stop
  end

  def test_failing_job_does_not_stop_the_pool
    results = Queue.new
    4.times { @pool.submit { raise "boom" } }
    @pool.submit { results << 1 }
    assert_equal 1, results.pop
    assert_includes @log.string, "boom"
  end
end
