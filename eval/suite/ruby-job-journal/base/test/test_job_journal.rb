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

  def test_survives_restart
    journal = JobJournal.new(@path)
    journal.add(JobJournal::Job.new("1", "resize", "a.png"))
    journal.add(JobJournal::Job.new("2", "resize", "b.png"))
    journal.done("1")
    assert_equal ["2"], reopen(journal).pending.map(&:id)
  end

  def test_half_a_line
    journal = JobJournal.new(@path)
    journal.add(JobJournal::Job.new("1", "resize", "a.png"))
    File.write(@path, "add\t2\tres", mode: "a")
    assert_equal ["1"], reopen(journal).pending.map(&:id)
  end
end
