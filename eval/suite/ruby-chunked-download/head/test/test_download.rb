# frozen_string_literal: true

require "minitest/autorun"
require "stringio"
require_relative "../lib/download"

class FakeClient
  attr_reader :requests

  def initialize(content, failures: 0)
    @content = content
    @failures = failures
    @requests = 0
  end

  def size(_path)
    @content.bytesize
  end

  def get(_path, headers)
    @requests += 1
    raise IOError, "connection reset" if @requests <= @failures

    first, last = headers.fetch("Range").delete_prefix("bytes=").split("-").map(&:to_i)
    @content.byteslice(first..last)
  end
end

class DownloadTest < Minitest::Test
  def test_small_file
    io = StringIO.new
    assert_equal 5, Download.new(FakeClient.new("hello")).copy("/a", io)
    assert_equal "hello", io.string
  end

  def test_number_of_requests
    client = FakeClient.new("x" * 25)
    Download.new(client, chunk: 10).copy("/a", StringIO.new)
    assert_equal 3, client.requests
  end

  def test_progress
    seen = []
    Download.new(FakeClient.new("x" * 25), chunk: 10).copy("/a", StringIO.new) { |done| seen << done }
    assert_equal [0.4, 0.8, 1.0], seen
  end

  def test_tries_again
    io = StringIO.new
    Download.new(FakeClient.new("hello", failures: 2)).copy("/a", io)
    assert_equal "hello", io.string
  end

  def test_gives_up
    client = FakeClient.new("hello", failures: 3)
    assert_raises(IOError) { Download.new(client).copy("/a", StringIO.new) }
    assert_equal 3, client.requests
  end
end
