# frozen_string_literal: true

require "minitest/autorun"
require "stringio"
require_relative "../lib/download"

class FakeClient
  attr_reader :requests

  def initialize(content)
    @content = content
    @requests = 0
  end

  def size(_path)
    @content.bytesize
  end

  def get(_path, headers)
    @requests += 1
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
end
