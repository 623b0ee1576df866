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

  def test_shut_down_finishes_waiting_jobs
    results = Queue.new
    20.times do |i|
      @pool.submit do
        sleep 0.005
        results << i
      end
    end
    assert @pool.shut_down(5)
    assert_equal 20, results.size
    assert_raises(WorkerPool::Closed) { @pool.submit { results << 0 } }
  end

  def test_shut_down_gives_up
    gate = Queue.new
    3.times { @pool.submit { gate.pop } }
    refute @pool.shut_down(0.05)
    assert_raises(WorkerPool::Closed) { @pool.submit { gate.pop } }
  end

  def test_shut_down_after_stop
    @pool.stop
    assert @pool.shut_down(1)
  end

  def test_needs_a_block
    assert_raises(ArgumentError) { @pool.submit }
  end
end
