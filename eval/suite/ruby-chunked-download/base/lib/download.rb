# frozen_string_literal: true

# Fetches a big file in pieces, because the depot's proxy cuts off answers that
# take longer than a minute.
#
# `client` answers `size(path)` in bytes and `get(path, headers)` with the body.
class Download
  CHUNK = 8 * 1024 * 1024

  def initialize(client, chunk: CHUNK)
    @client = client
    @chunk = chunk
  end

  # Writes the file at `path` to `io` and returns the number of bytes.
  def copy(path, io)
    size = @client.size(path)
    offset = 0
    while offset < size
      last = [offset + @chunk, size].min - 1
      io.write(@client.get(path, { "Range" => "bytes=#{offset}-#{last}" }))
      offset = last + 1
    end
    size
  end
end
