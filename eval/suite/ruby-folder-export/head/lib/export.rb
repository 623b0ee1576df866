# frozen_string_literal: true

require "open3"
require_relative "folder"

# Packs a member's folder into a .tar.gz with the system's tar.
class Export
  class Failed < StandardError; end

  def initialize(folder)
    @folder = folder
  end

  # Writes the archive to `target`. It is complete or it is not there: tar
  # writes to a file beside it, which is renamed at the end.
  def write(target)
    scratch = "#{target}.part"
    pack(@folder.names, scratch)
    File.rename(scratch, target)
  rescue StandardError
    File.delete(scratch) if File.exist?(scratch)
    raise
  end

  private

  # The names go through standard input: there may be more of them than fit on
  # a command line. Each ends with NUL, the one character no file name has.
  def pack(names, archive)
    output, status = Open3.capture2e(
      "tar", "--create", "--gzip", "--force-local", "--file", File.expand_path(archive),
      "--directory", @folder.root, "--null", "--verbatim-files-from", "--files-from", "-",
      stdin_data: names.map { |name| "#{name}\0" }.join
    )
    raise Failed, output.strip unless status.success?
  end
end
