# frozen_string_literal: true

require "json"

# The jobs that still have to be done, kept in a file so that they survive a
# restart of the worker.
#
# Each line of the file is a JSON object that adds a job (`op` is "add", with
# `id`, `kind` and `arguments`) or marks one as done ("done", with `id`).
class JobJournal
  # `arguments` is a Hash with String keys of anything that JSON can hold.
  Job = Struct.new(:id, :kind, :arguments)

  def initialize(path)
    @path = path
    @pending = {}
    replay if File.exist?(path)
    compact
    @file = File.open(path, "a", encoding: "UTF-8")
  end

  # The jobs that are not done, oldest first.
  def pending
    @pending.values
  end

  def add(job)
    append(added(job))
    @pending[job.id] = job
  end

  def done(id)
    append({ "op" => "done", "id" => id })
    @pending.delete(id)
  end

  def close
    @file.close
  end

  private

  def replay
    File.foreach(@path, encoding: "UTF-8") do |line|
      record = JSON.parse(line)
      id = record.fetch("id")
      case record.fetch("op")
      when "add" then @pending[id] = Job.new(id, record.fetch("kind"), record.fetch("arguments"))
      when "done" then @pending.delete(id)
      end
    rescue JSON::ParserError
      next # half a line, from a crash while writing
    end
  end

  # Rewrites the file with only what is still pending.
  def compact
    scratch = "#{@path}.new"
    File.open(scratch, "w", encoding: "UTF-8") do |file|
      pending.each { |job| file.puts(JSON.generate(added(job))) }
      file.fsync
    end
    File.rename(scratch, @path)
  end

  def added(job)
    { "op" => "add", "id" => job.id, "kind" => job.kind, "arguments" => job.arguments }
  end

  def append(record)
    @file.puts(JSON.generate(record))
    @file.fsync
  end
end
