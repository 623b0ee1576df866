# frozen_string_literal: true

require "minitest/autorun"
require "stringio"
require "tmpdir"
require_relative "../lib/import_command"

class ImportTest < Minitest::Test
  def setup
    @dir = Dir.mktmpdir
    @ledger = Ledger.new(File.join(@dir, "ledger"))
    %w[cash fees hall].each { |name| @ledger.open_account(name) }
    @out = StringIO.new
  end

  def teardown
    FileUtils.remove_entry(@dir)
  end

  def import(*rows)
    ImportCommand.new(@ledger, out: @out).call(["from,to,cents,text", *rows].join("\n"))
  end

  def test_posts
    assert_equal 0, import("fees,cash,2500,May", "cash,hall,1000,rent")
    assert_equal 1500, @ledger.balance("cash")
    assert_equal "2 entries posted\n", @out.string
  end

  def test_unknown_account
    assert_equal 1, import("fees,cash,2500,May", "cash,bar,1000,drinks")
    assert_equal "nothing posted: no account bar\n", @out.string
  end
end
