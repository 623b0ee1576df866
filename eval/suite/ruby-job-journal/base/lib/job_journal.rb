# frozen_string_literal: true

# The jobs that still have to be done, kept in a file so that they survive a
# restart of the worker.
#
# Each line of the file adds a job or marks one as done, its parts separated by
# tabs: `add ID KIND ARGUMENT` or `done ID`.
class JobJournal
  Job = Struct.new(:id, :kind, :argument)

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
    if [job.id, job.kind, job.argument].any? { |part| part.match?(/[\t\n]/) }
      raise ArgumentError, "tab or line feed in job #{job.id.inspect}"
    end

    append("add", job.id, job.kind, job.argument)
    @pending[job.id] = job
  end

  def done(id)
    append("done", id)
    @pending.delete(id)
  end

  def close
    @file.close
  end

  private

  def replay
    File.foreach(@path, encoding: "UTF-8") do |line|
      next unless line.end_with?("\n") # half a line, from a crash while writing

      op, id, kind, argument = line.chomp.split("\t", 4)
      case op
      when "add" then @pending[id] = Job.new(id, kind, argument)
      when "done" then @pending.delete(id)
      end
    end
  end

  # Rewrites the file with only what is still pending.
  def compact
    scratch = "#{@path}.new"
    File.open(scratch, "w", encoding: "UTF-8") do |file|
      pending.each { |job| file.puts(["add", *job.to_a].join("\t")) }
      file.fsync
    end
    File.rename(scratch, @path)
  end

  def append(*parts)
    @file.puts(parts.join("\t"))
    @file.fsync
  end
end
