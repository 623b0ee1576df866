# frozen_string_literal: true

require "csv"
require_relative "ledger"

# `ledger import FILE`: posts the treasurer's list.
class ImportCommand
  def initialize(ledger, out: $stdout)
    @ledger = ledger
    @out = out
  end

  # Returns the exit status.
  def call(csv)
    entries = CSV.parse(csv, headers: true).map do |row|
      Ledger::Entry.new(from: row["from"], to: row["to"], cents: Integer(row["cents"], 10), text: row["text"])
    end
    @ledger.post_all(entries)
    @out.puts "#{entries.size} entries posted"
    0
  rescue Ledger::PostingError => e
    @out.puts "nothing posted: #{e.message}"
    1
  end
end
