# frozen_string_literal: true

require "minitest/autorun"
require "tmpdir"
require_relative "../lib/job_journal"

class JobJournalTest < Minitest::Test
  def setup
    @dir = Dir.mktmpdir
    @path = File.join(@dir, "jobs")
  end

  def teardown
    FileUtils.remove_entry(@dir)
  end

  def reopen(journal)
    journal.close
    JobJournal.new(@path)
  end

  def resize(id, file)
    JobJournal::Job.new(id, "resize", { "file" => file, "width" => 640 })
  end

  def test_survives_restart
    journal = JobJournal.new(@path)
    journal.add(resize("1", "a.png"))
    journal.add(resize("2", "tab\tand\nline.png"))
    journal.done("1")
    assert_equal [resize("2", "tab\tand\nline.png")], reopen(journal).pending
  end

  def test_half_a_line
    journal = JobJournal.new(@path)
    journal.add(resize("1", "a.png"))
    File.write(@path, '{"op":"add","id":"2","ki', mode: "a")
    assert_equal ["1"], reopen(journal).pending.map(&:id)
  end
end
