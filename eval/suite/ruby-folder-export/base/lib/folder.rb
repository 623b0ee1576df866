# frozen_string_literal: true

# A member's folder on disk. Names are as the members typed them.
class Folder
  attr_reader :root

  def initialize(root)
    @root = File.realpath(root)
  end

  # The names of the plain files directly in the folder, sorted. Links,
  # directories and hidden files are left out.
  def names
    Dir.children(root).select { |name| !name.start_with?(".") && plain?(name) }.sort
  end

  def size(name)
    File.size(File.join(root, name))
  end

  private

  def plain?(name)
    File.lstat(File.join(root, name)).file?
  end
end
