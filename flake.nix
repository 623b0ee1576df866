{
  description = "Reviews a proposed code change and proves each issue with quoted code";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs =
    { self, nixpkgs }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" "x86_64-darwin" "aarch64-darwin" ];
      eachSystem = nixpkgs.lib.genAttrs systems;
    in
    {
      packages = eachSystem (
        system:
        let
          pkgs = nixpkgs.legacyPackages.${system};
        in
        {
          default = pkgs.rustPlatform.buildRustPackage {
            pname = "crh";
            version = (nixpkgs.lib.importTOML ./Cargo.toml).workspace.package.version;
            src = self;
            cargoLock.lockFile = ./Cargo.lock;
            buildType = "dist";
            buildFeatures = [ "server" ];
            env.CRH_COMMIT = self.shortRev or "not recorded";
            # The tests need git repositories and terminals; `.ci/run` runs them.
            doCheck = false;
            nativeBuildInputs = [ pkgs.installShellFiles pkgs.makeWrapper ];
            postInstall = ''
              wrapProgram $out/bin/crh --prefix PATH : ${nixpkgs.lib.makeBinPath [ pkgs.git ]}
              $out/bin/crh man --out man
              installManPage man/*
              installShellCompletion --cmd crh \
                --bash <($out/bin/crh completions bash) \
                --zsh <($out/bin/crh completions zsh) \
                --fish <($out/bin/crh completions fish)
            '';
            meta = {
              mainProgram = "crh";
              license = [ nixpkgs.lib.licenses.mit nixpkgs.lib.licenses.asl20 ];
            };
          };
        }
      );
    };
}
